"""Invalid arguments of API calls raise a `ForumError` that names them."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from acceptance.test_api import quick_workflow, workspace
from acceptance.workflow_folder import Folder
from forum_runner import api
from forum_runner.api import Inputs, RetryRequest, RunRequest, TrustedReferences, UsageError, Workspace
from forum_runner.graph import GraphFormat
from forum_runner.importing.parsed_source import ImportFormat


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return quick_workflow(tmp_path)


@pytest.fixture
def run(folder: Folder) -> str:
    asyncio.run(api.run(workspace(folder), RunRequest("workflow.yaml", out=Path("run"))))
    return "run"


@pytest.mark.parametrize("levels", [{9}, {-1}, {4, 9}, {"3"}, {0, 1}])
def test_verifying_an_unknown_level_is_an_error(folder: Folder, run: str, levels: set[int]) -> None:
    with pytest.raises(UsageError, match="there is no level"):
        api.verify(workspace(folder), run, levels=frozenset(levels))


def test_a_negative_size_is_an_error(folder: Folder, run: str) -> None:
    for call in (
        lambda: api.checkpoint(workspace(folder), run, size=-1),
        lambda: api.prove(workspace(folder), run, from_size=-1),
        lambda: api.prove(workspace(folder), run, seq=0, size=-1),
    ):
        with pytest.raises(UsageError, match="a ledger cannot have -1 entries"):
            call()


@pytest.mark.parametrize("name", ["a\0b", "a\ud800"])
def test_a_path_that_no_file_can_have_is_an_error(folder: Folder, run: str, name: str) -> None:
    path, work = Path(name), workspace(folder)
    request = RunRequest("workflow.yaml")
    for call in (
        lambda: Workspace.at(name),
        lambda: Workspace(folder.path, runs=path),
        lambda: api.check(work, [name]),
        lambda: api.compile(work, "workflow.yaml", out=path),
        lambda: api.init(work, path),
        lambda: api.import_record(work, "workflow.yaml", out=path),
        lambda: api.keygen(work, "ann", path),
        lambda: api.checkpoint(work, run, key=path),
        lambda: api.verify(work, run, trusted=TrustedReferences(checkpoint=path)),
        lambda: asyncio.run(api.run(work, replace(request, out=path))),
        lambda: asyncio.run(api.run(work, replace(request, cache_run=path))),
        lambda: asyncio.run(api.retry(work, RetryRequest(run, out=path))),
    ):
        with pytest.raises(UsageError, match=r"invalid path '.*a\\"):
            call()


def test_an_input_with_a_lone_surrogate_is_an_error(folder: Folder) -> None:
    inputs = Inputs(texts={"version": "\ud800"})

    with pytest.raises(UsageError, match="the value of the input 'version' has a lone surrogate"):
        api.check(workspace(folder), ["workflow.yaml"], inputs=inputs)
    with pytest.raises(UsageError, match="the value of the input 'version' has a lone surrogate"):
        asyncio.run(api.run(workspace(folder), RunRequest("workflow.yaml", inputs=inputs)))


def test_an_unknown_format_is_an_error(folder: Folder) -> None:
    with pytest.raises(UsageError, match="unknown format 'bogus'; formats: text, mermaid, dot, svg"):
        api.draw(workspace(folder), "workflow.yaml", cast(GraphFormat, "bogus"))
    with pytest.raises(UsageError, match="unknown format 'bogus'; formats: forum-engine, symposium, otel"):
        api.import_record(workspace(folder), "workflow.yaml", source_format=cast(ImportFormat, "bogus"))
