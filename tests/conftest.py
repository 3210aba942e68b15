"""Settings that all tests share."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
# `pytest -m quick` runs these folders and files, except for the slow ones, which take more than three seconds.
QUICK_FOLDERS = ("unit", "architecture")
QUICK_FILES = ("acceptance/test_examples.py", "acceptance/test_findings.py")
SLOW_FILES = (
    "architecture/test_independence.py",
    "architecture/test_requirements.py",
    "unit/adapters/test_command_final_time.py",
    "unit/adapters/test_command_process_keeper.py",
    "unit/adapters/test_command_process_tree.py",
    "unit/adapters/test_model_server_limits.py",
    "unit/conformance/suite/test_self_check.py",
    "unit/conformance/suite/test_vectors.py",
    "unit/conformance/test_mutants.py",
    "unit/conformance/vector_generator/test_ledgers_cases.py",
    "unit/conformance/vector_generator/test_ledgers_places.py",
    "unit/conformance/vector_generator/test_runs_mutations.py",
    "unit/runner/compile/test_layering_laws.py",
    "unit/runner/execute/test_engines.py",
    "unit/runner/execute/test_machine_laws.py",
    "unit/runner/execute/test_process_engine.py",
    "unit/runner/execute/test_replay_laws.py",
    "unit/runner/execute/test_resume_laws.py",
    "unit/runner/execute/test_scrubber.py",
    "unit/runner/graph/test_render.py",
    "unit/runner/history/test_history_laws.py",
    "unit/runner/importing/test_any_source.py",
    "unit/runner/ledger/test_entry_decoder.py",
    "unit/runner/progress/test_terminal.py",
    "unit/runner/test_canonical.py",
    "unit/runner/test_canonical_vectors.py",
    "unit/runner/test_robustness.py",
)

# Timing never decides a test.
settings.register_profile("forum", deadline=None)
settings.register_profile("quick", parent=settings.get_profile("forum"), max_examples=10)
settings.load_profile("forum")

# A background job of a shell ignores interrupts, and under `nohup` also hangups. Programs that the tests start would
# inherit this, so restore the defaults.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)

# The tests start hundreds of processes. Without bytecode, each of them would compile every module that it imports.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(TESTS.parent / ".pytest_cache" / "bytecode")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == "quick":
        settings.load_profile("quick")


def is_quick(path: Path) -> bool:
    name = path.relative_to(TESTS).as_posix()
    return name in QUICK_FILES or (name.partition("/")[0] in QUICK_FOLDERS and name not in SLOW_FILES)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import the files that `-m quick` would deselect."""
    is_deselected = config.option.markexpr == "quick" and collection_path.is_file() and not is_quick(collection_path)
    return True if is_deselected else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_quick(item.path):
            item.add_marker("quick")
