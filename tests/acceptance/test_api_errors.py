"""Invalid arguments of API calls raise a `ForumError` that names them."""

import asyncio
from pathlib import Path

import pytest

from acceptance.test_api import quick_workflow, workspace
from acceptance.workflow_folder import Folder
from forum_runner import api
from forum_runner.api import RunRequest, UsageError


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
