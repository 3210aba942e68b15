"""Observers of runs through the API: any object with the methods of `Observer`, and its exceptions reach the caller."""

import asyncio
from pathlib import Path
from unittest.mock import Mock

from acceptance.test_api import quick_workflow, workspace
from forum_runner import api
from forum_runner.api import Observer, RunRequest

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
