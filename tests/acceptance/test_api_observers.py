"""Observers of runs through the API: any object with the methods of `Observer`, and its exceptions reach the caller."""

import asyncio
from pathlib import Path
from unittest.mock import Mock

import pytest

from acceptance.test_api import napping_workflow, quick_workflow, wait_for_nap, workspace
from acceptance.workflow_folder import Folder, sh
from forum_runner import api
from forum_runner.api import Observer, ResumeRequest, RunRequest

_RUN = RunRequest("workflow.yaml", out=Path("run"))


def test_a_mock_can_observe_a_run(tmp_path: Path) -> None:
    folder = quick_workflow(tmp_path)
    observer = Mock(spec=Observer)

    finished = asyncio.run(api.run(workspace(folder), _RUN, observer))

    assert finished.status == "passed"
    assert observer.entry.call_args.args[2] == "run.sealed"
    observer.closed.assert_called_once_with()


def test_a_method_that_is_set_on_the_observer_itself_is_called(tmp_path: Path) -> None:
    folder = quick_workflow(tmp_path)
    observer, kinds = Observer(), list[str]()
    setattr(observer, "entry", lambda _seq, _at_us, kind, _data: kinds.append(kind))  # noqa: B010 - mypy

    asyncio.run(api.run(workspace(folder), _RUN, observer))

    assert kinds[-1] == "run.sealed"


class FailingObserver(Observer):
    """Raises an error in one of its methods."""

    def __init__(self, method: str) -> None:
        setattr(self, method, self._fail)

    def _fail(self, *_arguments: object) -> None:
        raise ValueError("observer failed")


@pytest.mark.parametrize("method", ["opened", "entry", "closed"])
def test_an_exception_in_an_observer_stops_the_run_and_reaches_the_caller(
    tmp_path: Path, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = quick_workflow(tmp_path)

    with pytest.raises(ValueError, match="observer failed"):
        asyncio.run(api.run(workspace(folder), _RUN, FailingObserver(method)))

    assert caplog.records == []
    assert asyncio.run(api.resume(workspace(folder), ResumeRequest("run"))).status == "passed"


def test_an_exception_while_a_run_pauses_reaches_the_caller(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = napping_workflow(tmp_path)

    async def main() -> None:
        handle = await api.start(workspace(folder), _RUN, FailingObserver("stopping"))
        await wait_for_nap(folder)
        handle.cancel()
        await handle.wait()

    with pytest.raises(ValueError, match="observer failed"):
        asyncio.run(main())

    assert caplog.records == []
    assert asyncio.run(api.resume(workspace(folder), ResumeRequest("run"))).status == "passed"


def test_an_exception_when_a_waiting_run_is_closed_reaches_the_caller(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Folder(tmp_path)
    folder.write({"a": sh("echo a", gate={"question": "Go?"})})
    asyncio.run(api.run(workspace(folder), _RUN))

    with pytest.raises(ValueError, match="observer failed"):
        asyncio.run(api.resume(workspace(folder), ResumeRequest("run"), FailingObserver("closed")))

    assert caplog.records == []
