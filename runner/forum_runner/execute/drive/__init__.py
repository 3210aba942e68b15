"""Drivers run a machine in real or virtual time and record its entries."""

from forum_runner.execute.drive.live import LiveDriver, SteadyClock
from forum_runner.execute.drive.recorder import Recorder, RunClock
from forum_runner.execute.drive.virtual import EPOCH_US, VirtualDriver

__all__ = ["EPOCH_US", "LiveDriver", "Recorder", "RunClock", "SteadyClock", "VirtualDriver"]
