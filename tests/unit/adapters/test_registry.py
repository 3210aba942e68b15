"""Adapter types are found by name. Errors explain why a type cannot be used."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import msgspec
import pytest

from forum_adapters.base import Adapter
from forum_adapters.plugins import BrokenPluginError, ClashingPluginError, UnknownPluginError
from forum_adapters.registry import ADAPTER_TYPES, make_adapter
from forum_adapters.replay import ReplayAdapter
from forum_adapters.scripted import ScriptedAdapter
from forum_runner.execute.engines import ENGINES

ROOT = Path(__file__).parents[3]
BUILT_IN = ("anthropic", "command", "openai", "scripted")
ADAPTER = """
class Echo:
    def __init__(self, name, settings):
        self.name = name
    async def answer(self, attempt): ...
    async def probe(self): ...
    async def close(self): ...

def make(name, settings):
    return Echo(name, settings)

def refuse(name, settings):
    raise ValueError("no 'color' in the settings")

def exit_(name, settings):
    raise SystemExit(3)

class Mute:
    async def answer(self, attempt): ...

def make_mute(name, settings):
    return Mute()

number = 1
"""
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that puts a distribution with adapter types on the path."""

    def install(distribution: str, entry_points: dict[str, str], source: str = ADAPTER) -> None:
        folder = tmp_path / distribution
        info = folder / f"{distribution}-2.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 2.0\n")
        lines = [f"{name} = {distribution}_module:{value}" for name, value in entry_points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[forum.adapters]", *lines, ""]))
        (folder / f"{distribution}_module.py").write_text(source)
        monkeypatch.syspath_prepend(folder)

    return install


def broken_reason(type_name: str) -> str:
    with pytest.raises(BrokenPluginError) as caught:
        make_adapter("one", {"type": type_name})
    assert str(caught.value) == f"adapter type '{type_name}' is broken: {caught.value.reason}"
    return caught.value.reason


def test_a_built_in_type_makes_an_adapter() -> None:
    adapter = make_adapter("small", {"type": "scripted", "answers": []})

    assert ADAPTER_TYPES.load("scripted") is ScriptedAdapter
    assert isinstance(adapter, ScriptedAdapter)
    assert adapter.name == "small"


@pytest.mark.parametrize("type_name", BUILT_IN)
def test_every_built_in_type_can_be_loaded(type_name: str) -> None:
    assert isinstance(ADAPTER_TYPES.load(type_name), type)


def test_the_replay_type_can_be_loaded_but_is_not_listed() -> None:
    assert ADAPTER_TYPES.load("replay") is ReplayAdapter
    assert "replay" not in ADAPTER_TYPES.known()


def test_a_third_party_type_is_found(install: Install) -> None:
    install("echoes", {"x-class": "Echo", "x-function": "make"})

    adapters = [make_adapter("one", {"type": name}) for name in ("x-class", "x-function")]

    assert [type(adapter).__name__ for adapter in adapters] == ["Echo", "Echo"]
    assert all(isinstance(adapter, Adapter) for adapter in adapters)


def test_known_types_name_their_distributions(install: Install) -> None:
    install("echoes", {"x-echo": "Echo", "unprefixed": "Echo"})
    install("others", {"x-echo": "Echo", "x-other": "Echo"})

    built_in = dict.fromkeys(BUILT_IN, f"forum-runner {version('forum-runner')}")
    assert ADAPTER_TYPES.known() == built_in | {"x-echo": "others 2.0, echoes 2.0", "x-other": "others 2.0"}


def test_an_unknown_type_names_the_known_ones(install: Install) -> None:
    install("echoes", {"x-echo": "Echo", "unprefixed": "Echo"})

    with pytest.raises(UnknownPluginError) as caught:
        ADAPTER_TYPES.load("x-ecko")

    assert (caught.value.name, caught.value.known) == ("x-ecko", (*BUILT_IN, "x-echo"))
    assert str(caught.value) == (
        "no adapter type 'x-ecko' is installed (installed: anthropic, command, openai, scripted, x-echo); "
        "did you mean 'x-echo'?"
    )


def test_a_third_party_type_must_start_with_x(install: Install) -> None:
    install("echoes", {"unprefixed": "Echo"})

    with pytest.raises(UnknownPluginError):
        ADAPTER_TYPES.load("unprefixed")


def test_a_type_that_two_distributions_provide_is_refused(install: Install) -> None:
    install("echoes", {"x-echo": "Echo"})
    install("others", {"x-echo": "Echo"})

    with pytest.raises(ClashingPluginError) as caught:
        ADAPTER_TYPES.load("x-echo")

    assert str(caught.value) == (
        "adapter type 'x-echo' is provided by others 2.0 and by echoes 2.0; uninstall all but one"
    )


def test_a_distribution_that_provides_a_built_in_name_is_refused(install: Install) -> None:
    install("echoes", {"scripted": "Echo"})

    with pytest.raises(ClashingPluginError) as caught:
        ADAPTER_TYPES.load("scripted")

    assert caught.value.distributions == (f"forum-runner {version('forum-runner')}", "echoes 2.0")


def test_a_type_without_the_adapter_interface_is_broken(install: Install) -> None:
    entry_points = {
        "x-number": "number",
        "x-mute": "Mute",
        "x-mutes": "make_mute",
        "x-refuse": "refuse",
        "x-absent": "no",
    }
    entry_points["x-exit"] = "exit_"
    install("echoes", entry_points)

    assert {name: broken_reason(name) for name in entry_points} == {
        "x-number": "echoes_module:number is not callable",
        "x-mute": "it lacks the methods probe and close",
        "x-mutes": "it lacks the methods probe and close",
        "x-refuse": "creating 'one' failed: ValueError: no 'color' in the settings",
        "x-absent": "loading echoes_module:no failed: AttributeError: module 'echoes_module' has no attribute 'no'",
        "x-exit": "creating 'one' failed: SystemExit: 3",
    }


def test_a_type_whose_module_fails_is_broken_and_does_not_affect_others(install: Install) -> None:
    install("failing", {"x-failing": "Echo"}, source="raise OSError('no device')\n")

    assert broken_reason("x-failing") == "loading failing_module:Echo failed: OSError: no device"
    assert ADAPTER_TYPES.load("scripted") is ScriptedAdapter


def test_a_type_whose_module_exits_is_broken(install: Install) -> None:
    install("ending", {"x-ending": "Echo"}, source="import sys\nsys.exit(4)\n")

    assert broken_reason("x-ending") == "loading ending_module:Echo failed: SystemExit: 4"


def test_built_in_types_are_found_in_a_checkout_that_is_not_installed(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom forum_adapters.registry import ADAPTER_TYPES as types\n"
        "print(types.load('scripted').__name__, types.known()['openai'])\n"
        "print(sorted(name for name in sys.modules if name.startswith('forum_')))"
    )
    # -S leaves out the folder with installed packages, which contains forum but also msgspec.
    (tmp_path / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'adapters'}{os.pathsep}{tmp_path}"}
    result = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True, env=environment
    )

    loaded = ["", ".base", ".known_replies", ".memo", ".plugins", ".registry", ".script", ".scripted"]
    assert result.stdout.splitlines() == [
        "ScriptedAdapter forum-runner (not installed)",
        str([f"forum_adapters{module}" for module in loaded]),
    ]


def test_the_entry_points_equal_the_built_in_types() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert project["entry-points"] == {group.group: group.own for group in (ADAPTER_TYPES, ENGINES)}
