"""Runs whose event loop ends before they do, and handles that are used in another event loop."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.test_api import wait_for_nap, workspace
from acceptance.workflow_folder import Folder, check_valid, sh
from forum_runner import api
from forum_runner.api import ResumeRequest, RunRequest, UnfinishedRunError, UsageError
from forum_runner.app.run_handle import RunHandle
from forum_runner.ledger.files import is_being_written

_RUN = RunRequest("workflow.yaml", out=Path("run"))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """A workflow whose task does not end on its first attempt. Nothing else ends the programs of an abandoned run."""
    folder = Folder(tmp_path)
    nap = "test -e napped && exit; touch napped; until test -e ended; do sleep 0.1; done"
    folder.write({"nap": sh(nap)}, policy={"on_lost": "retry"})
    yield folder
    (tmp_path / "ended").touch()


async def start_nap(folder: Folder) -> RunHandle:
    handle = await api.start(workspace(folder), _RUN)
    await wait_for_nap(folder)
    return handle


def test_a_run_that_is_active_when_the_program_ends_is_interrupted_silently(
    folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(start_nap(folder))

    assert caplog.records == []
    assert asyncio.run(api.resume(workspace(folder), ResumeRequest("run"))).status == "passed"


def start_in_closed_loop(folder: Folder) -> RunHandle:
    """Starts a run in an event loop that is closed while the run is active."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(start_nap(folder))
    finally:
        loop.close()


def test_a_run_whose_event_loop_was_closed_can_be_resumed(folder: Folder) -> None:
    start_in_closed_loop(folder)

    assert asyncio.run(api.resume(workspace(folder), ResumeRequest("run"))).status == "passed"
    check_valid(folder.path / "run")


def test_a_handle_whose_event_loop_was_closed_reports_an_unfinished_run(folder: Folder) -> None:
    handle = start_in_closed_loop(folder)

    with pytest.raises(UnfinishedRunError, match="its event loop was closed"):
        api.cancel(workspace(folder), "run")
    with pytest.raises(UnfinishedRunError, match="its event loop was closed"):
        handle.cancel()
    with pytest.raises(UnfinishedRunError, match="its event loop was closed"):
        asyncio.run(handle.wait())
    assert not is_being_written(folder.path / "run")


def test_a_handle_of_an_abandoned_run_does_not_affect_the_resumed_run(folder: Folder) -> None:
    abandoned = start_in_closed_loop(folder)
    (folder.path / "napped").unlink()

    async def main() -> str:
        handle = await api.start(workspace(folder), ResumeRequest("run"))
        await wait_for_nap(folder)
        with pytest.raises(UnfinishedRunError):
            abandoned.cancel()
        api.cancel(workspace(folder), "run")
        return (await handle.wait()).status

    assert asyncio.run(main()) == "paused"


def test_waiting_for_a_run_in_another_event_loop_is_an_error(folder: Folder) -> None:
    async def main() -> str:
        handle = await start_nap(folder)
        with pytest.raises(UsageError, match="was started in a different event loop; call wait\\(\\) in that loop"):
            await asyncio.to_thread(asyncio.run, handle.wait())
        handle.cancel()
        return (await handle.wait()).status

    assert asyncio.run(main()) == "paused"
