"""Invalid arguments of API calls raise a `ForumError` that names them."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from acceptance.test_api import quick_workflow, workspace
from acceptance.workflow_folder import Folder, sh
from forum_runner import api
from forum_runner.api import DecisionRequest, Inputs, RetryRequest, RunRequest, TrustedReferences, UsageError, Workspace
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

    with pytest.raises(UsageError, match="the value of the input 'version' contains a lone surrogate"):
        api.check(workspace(folder), ["workflow.yaml"], inputs=inputs)
    with pytest.raises(UsageError, match="the value of the input 'version' contains a lone surrogate"):
        asyncio.run(api.run(workspace(folder), RunRequest("workflow.yaml", inputs=inputs)))


def test_an_unknown_format_is_an_error(folder: Folder) -> None:
    with pytest.raises(UsageError, match="unknown format 'bogus'; formats: text, mermaid, dot, svg"):
        api.draw(workspace(folder), "workflow.yaml", cast(GraphFormat, "bogus"))
    with pytest.raises(UsageError, match="unknown format 'bogus'; formats: forum-engine, symposium, otel"):
        api.import_record(workspace(folder), "workflow.yaml", source_format=cast(ImportFormat, "bogus"))


def test_repeating_a_run_in_one_directory_is_an_error(folder: Folder) -> None:
    async def main() -> None:
        async for _ in api.repeat(workspace(folder), RunRequest("workflow.yaml", out=Path("run")), 2):
            pass

    with pytest.raises(UsageError, match="`out` cannot be used with `repeat`"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decision": "maybe"}, "unknown decision 'maybe'; use 'approved' or 'rejected'"),
        ({"reason": "é" * (9 << 20)}, "too long to decide the gate of 'a' while the run is in progress"),
    ],
    ids=["decision", "reason"],
)
def test_an_invalid_decision_about_a_run_in_progress_is_refused_at_once(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    folder = Folder(tmp_path)
    folder.write({"a": sh("echo a", gate={"question": "Go?"}), "b": sh("until test -e ended; do sleep 0.1; done")})
    decision = replace(DecisionRequest("run", "a", "approved", "ann"), **changes)

    async def main() -> None:
        handle = await api.start(workspace(folder), RunRequest("workflow.yaml", out=Path("run")))
        while not api.gates(workspace(folder), "run").gates:
            await asyncio.sleep(0.01)
        with pytest.raises(UsageError, match=message):
            await api.decide(workspace(folder), decision)
        handle.cancel()
        await handle.wait()

    asyncio.run(main())
