"""Runs whose event loop ends before they do, and handles that are used in another event loop."""

import asyncio
from pathlib import Path

import pytest

from acceptance.test_api import napping_workflow, wait_for_nap, workspace
from acceptance.workflow_folder import Folder
from forum_runner import api
from forum_runner.api import ResumeRequest, RunRequest
from forum_runner.app.run_handle import RunHandle

_RUN = RunRequest("workflow.yaml", out=Path("run"))


async def start_nap(folder: Folder) -> RunHandle:
    handle = await api.start(workspace(folder), _RUN)
    await wait_for_nap(folder)
    return handle


def test_a_run_that_is_active_when_the_program_ends_is_interrupted_silently(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = napping_workflow(tmp_path)

    asyncio.run(start_nap(folder))

    assert caplog.records == []
    assert asyncio.run(api.resume(workspace(folder), ResumeRequest("run"))).status == "passed"
