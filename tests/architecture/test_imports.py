"""Rules about imports between modules. Lazy imports count, because the source is parsed, not run."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"forum_runner": "runner", "forum_adapters": "adapters", "forum_conformance": "conformance"}
# From bottom to top. A module may import modules of lower layers and of its own package.
LAYERS = (
    {"errors", "__init__"},
    {"finding", "canonical", "json_text", "resources", "explanations", "workspace", "write_file"},
    {"document"},
    {"model"},
    {"manifest"},
    {"wave_plan"},
    {"compile", "ledger"},
    {"history"},
    {"execute", "importing"},
    {"report", "graph", "defect"},
    {"observer"},
    {"progress"},
    {"scaffold"},
    {"app"},
    {"api"},
    {"conformance"},
    {"commands"},
    {"cli"},
    {"__main__"},
)
# The subpackages of `execute` whose `__init__` is their public interface.
SUBPACKAGES = ("drive", "engines", "machine", "replay", "resume", "reuse", "secrets")
# The process engine supervises its workers with the code that the command adapter uses for its programs.
SUPERVISION = ("programs.process_keeper", "programs.process_warden")
ALLOWED_CROSSINGS = {
    *(("forum_runner", f"forum_adapters.{name}") for name in ("base", "plugins", "registry")),
    *(("forum_runner.execute.engines.", f"forum_adapters.{name}") for name in SUPERVISION),
}


@cache
def modules(package: str) -> tuple[tuple[str, ast.Module], ...]:
    root = ROOT / PACKAGES[package]
    names = {
        path: ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(root.rglob("*.py"))
    }
    return tuple((name, ast.parse(path.read_text(encoding="utf-8"))) for path, name in names.items())


def imports(tree: ast.Module) -> Iterator[str]:
    for node in import_statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def import_statements(tree: ast.Module) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Return all import statements of a module. Cached, because walking the trees takes most of the time."""
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def type_imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from imports(ast.Module(node.body, []))


def crossings(package: str) -> set[tuple[str, str]]:
    """Return the imports from this package into our other packages, as pairs of module and imported name."""
    others = set(PACKAGES) - {package}
    return {
        (name, imported)
        for name, tree in modules(package)
        for imported in imports(tree)
        if imported.partition(".")[0] in others
    }


def rank(module: str) -> int:
    """Return the number of a module's layer, counted from the bottom."""
    first = module.split(".")[1] if "." in module else "__init__"
    ranks = [index for index, layer in enumerate(LAYERS) if first in layer]
    return ranks[0] if ranks else 0  # a name from the package itself, such as its version


@pytest.mark.parametrize("package", ["forum_adapters", "forum_conformance"])
def test_adapters_and_conformance_import_none_of_our_other_packages(package: str) -> None:
    assert crossings(package) == set()


@pytest.mark.parametrize(
    ("folder", "packages"), [(".", {"forum_runner", "forum_adapters"}), ("conformance", {"forum_conformance"})]
)
def test_a_distribution_imports_exactly_its_dependencies(folder: str, packages: set[str]) -> None:
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    imported = {
        module.partition(".")[0]
        for package in packages
        for name, tree in modules(package)
        if name.partition(".")[0] == package
        for module in imports(tree)
    }

    outside = imported - sys.stdlib_module_names - packages
    names = (dependency.partition(">=")[0] for dependency in project["dependencies"])
    assert outside == {"yaml" if name == "PyYAML" else name.replace("-", "_") for name in names}


def test_the_runner_imports_only_the_allowed_modules_of_the_adapters() -> None:
    forbidden = {
        (name, imported)
        for name, imported in crossings("forum_runner")
        if not any(
            name.startswith(source) and (imported == target or imported.startswith(f"{target}."))
            for source, target in ALLOWED_CROSSINGS
        )
    }

    assert forbidden == set()


def test_only_the_command_line_imports_click_and_signal() -> None:
    importers = {
        (name, imported)
        for name, tree in modules("forum_runner")
        for imported in imports(tree)
        if imported.partition(".")[0] in ("click", "signal")
    }

    assert {pair for pair in importers if rank(pair[0]) < rank("forum_runner.commands")} == set()


def test_only_the_command_line_reads_or_changes_the_current_directory() -> None:
    """API calls get absolute paths, which do not depend on the current directory."""
    attributes = {"Path.cwd", "os.getcwd", "os.getcwdb", "os.curdir", "os.chdir", "os.fchdir"}
    users = {
        (name, ast.unparse(node))
        for package in ("forum_runner", "forum_adapters")
        for name, tree in modules(package)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in attributes
    }

    # A warden is a separate process, and changes to the directory of each program it starts.
    warden = {("forum_adapters.programs.process_warden", "os.chdir")}
    assert {pair for pair in users if rank(pair[0]) < rank("forum_runner.commands")} == warden


def test_commands_and_conformance_use_the_application_only_through_its_api() -> None:
    direct_imports = {
        (name, imported)
        for name, tree in modules("forum_runner")
        if name.startswith(("forum_runner.commands", "forum_runner.conformance"))
        for imported in set(imports(tree)) - set(type_imports(tree))
        if imported.startswith(("forum_runner.app", "forum_runner.execute"))
    }

    assert direct_imports == set()


def test_every_module_of_the_runner_has_a_layer() -> None:
    parts = {path.stem for path in (ROOT / "runner/forum_runner").iterdir() if path.suffix == ".py" or path.is_dir()}

    assert parts - {"__pycache__", "explanations", "py"} <= set().union(*LAYERS)


def test_the_runner_imports_only_downwards() -> None:
    upward = {
        (name, imported)
        for name, tree in modules("forum_runner")
        for imported in imports(tree)
        if imported.startswith("forum_runner.")
        and rank(imported) >= rank(name)
        and imported.split(".")[1] != [*name.split("."), ""][1]
    }

    assert upward == set()


def test_subpackages_of_execute_import_each_other_only_through_their_public_interface() -> None:
    """A subpackage exports its names in `__init__`. Other packages do not import its modules."""
    names = {name for name, _ in modules("forum_runner")}
    bypassing = {
        (name, imported)
        for name, tree in modules("forum_runner")
        for imported in imports(tree)
        if imported.split(".")[1:3] in [["execute", subpackage] for subpackage in SUBPACKAGES]
        and ".".join(imported.split(".")[:4]) in names
        and imported.split(".")[:3] != name.split(".")[:3]
    }

    assert bypassing == set()


def import_graph() -> dict[str, set[str]]:
    """Map each of our modules to the modules that it imports, including lazy and type-only imports."""
    trees = {name: tree for package in PACKAGES for name, tree in modules(package)}
    return {
        name: {
            target
            for imported in imports(tree)
            for target in (imported if imported in trees else imported.rpartition(".")[0],)
            if target in trees and target != name
        }
        for name, tree in trees.items()
    }


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return the path of one cycle, or an empty list."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in done:
            for imported in sorted(graph[name]):
                if cycle := visit(imported, [*path, name]):
                    return cycle
            done.add(name)
        return []

    return next((cycle for name in sorted(graph) if (cycle := visit(name, []))), [])


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert find_cycle(import_graph()) == []


def test_find_cycle_finds_a_cycle() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


def test_imports_include_lazy_ones() -> None:
    tree = ast.parse("def f():\n    if True:\n        from forum_conformance.judge import judge\n")

    assert list(imports(tree)) == ["forum_conformance.judge.judge"]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_and_version_load_no_heavy_module(arguments: list[str]) -> None:
    program = (
        f"import sys\nsys.argv = ['forum', *{arguments!r}]\nfrom forum_runner.cli import cli\n"
        "try:\n    cli.main(prog_name='forum')\nexcept SystemExit:\n    pass\n"
        "print(sorted(sys.modules), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(result.stderr))

    heavy = {"httpx", "rich", "yaml", "jsonschema_rs", "orjson", "rfc8785", "forum_adapters", "forum_runner.app"}
    assert loaded & heavy == set()


def test_no_file_has_more_than_400_lines() -> None:
    files = [path for folder in (*PACKAGES.values(), "tests") for path in (ROOT / folder).rglob("*.py")]

    assert {path.name: n for path in files if (n := len(path.read_text(encoding="utf-8").splitlines())) > 400} == {}
