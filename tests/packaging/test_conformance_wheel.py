"""The judge and the suite are a separate distribution, complete without the runner."""

import json
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import forum_conformance
from distributions import ROOT, build, create_environment, run, worked_example_ledger
from forum_runner import __version__

VALID = "valid: 3 entries, run 01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f, passed\n"


@pytest.fixture(scope="module")
def conformance_bin(conformance_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has only this wheel and its dependencies."""
    return create_environment(tmp_path_factory.mktemp("alone") / "venv", conformance_wheel)


@pytest.fixture(scope="module")
def sdist_and_wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a source distribution and the wheel built from it."""
    folder = tmp_path_factory.mktemp("dist")
    build(checkout / "conformance", folder)
    return folder


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.jsonl"
    path.write_text(worked_example_ledger())
    return path


def project_table(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def files_of(wheel: Path) -> dict[str, bytes]:
    """Return all files except RECORD, whose order may differ."""
    archive = zipfile.ZipFile(wheel)
    return {name: archive.read(name) for name in archive.namelist() if not name.endswith(".dist-info/RECORD")}


def files_below(folder: Path, prefix: str) -> dict[str, bytes]:
    return {f"{prefix}/{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_both_distributions_have_the_same_version() -> None:
    versions = [
        project_table(ROOT)["version"],
        project_table(ROOT / "conformance")["version"],
        forum_conformance.__version__,
    ]

    assert versions == [__version__] * 3


def test_both_distributions_have_the_same_license() -> None:
    assert (ROOT / "conformance" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_a_wheel_built_from_the_source_distribution_has_the_same_files(
    conformance_wheel: Path, sdist_and_wheel: Path
) -> None:
    (from_source,) = sdist_and_wheel.glob("*.whl")

    assert files_of(from_source) == files_of(conformance_wheel)


def test_the_unpacked_source_distribution_can_judge_a_ledger(
    sdist_and_wheel: Path, tmp_path: Path, ledger: Path
) -> None:
    with tarfile.open(next(sdist_and_wheel.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("forum_conformance-*/")

    stdout = run(sys.executable, "-m", "forum_conformance", "judge", ledger, cwd=unpacked)

    assert stdout.startswith(VALID)


def test_the_wheel_contains_one_package_and_its_data(checkout: Path, conformance_wheel: Path) -> None:
    files = files_of(conformance_wheel)
    data = {
        **files_below(checkout / "schemas", "forum_conformance/schema_files"),
        **files_below(checkout / "conformance" / "vectors", "forum_conformance/vectors"),
        "forum_conformance/PROTOCOL.md": (checkout / "conformance" / "PROTOCOL.md").read_bytes(),
        "forum_conformance/py.typed": b"",
    }

    packages = {name.partition("/")[0] for name in files if ".dist-info/" not in name}
    assert packages == {"forum_conformance"}
    assert {name: content for name, content in files.items() if name in data} == data
    code = {name for name in files if name not in data and ".dist-info/" not in name}
    assert {Path(name).suffix for name in code} == {".py"}
    assert any(name.endswith("licenses/LICENSE") for name in files)


def test_the_wheel_alone_judges_a_ledger(conformance_bin: Path, tmp_path: Path, ledger: Path) -> None:
    stdout = run(conformance_bin / "forum-conformance", "judge", ledger, cwd=tmp_path)

    assert stdout.startswith(VALID)


def test_the_wheel_alone_lists_every_vector(conformance_bin: Path, tmp_path: Path, checkout: Path) -> None:
    stdout = run(conformance_bin / "forum-conformance", "test", "--list", cwd=tmp_path)

    vectors = checkout / "conformance" / "vectors" / "v1"
    ids = {str(path.parent.relative_to(vectors)) for path in vectors.rglob("case.json")}
    assert {line.split()[0] for line in stdout.splitlines()} == ids


def test_the_wheel_installs_nothing_of_the_runner(conformance_bin: Path, tmp_path: Path) -> None:
    program = "from importlib.metadata import distributions\nprint(*(item.name for item in distributions()))"

    names = run(conformance_bin / "python", "-c", program, cwd=tmp_path).split()

    assert [name for name in names if name.startswith("forum")] == ["forum-conformance"]
    assert set(names) & {"click", "cryptography", "httpx", "jsonschema-rs", "orjson", "PyYAML", "rich"} == set()


def test_editable_installs_of_both_use_an_edited_schema_immediately(checkout: Path, tmp_path: Path) -> None:
    bin_ = create_environment(tmp_path / "venv", "--editable", checkout / "conformance", "--editable", checkout)
    print_title = "from forum_conformance.schemas import schema\nprint(schema('proof.schema.json')['title'])"
    schema = checkout / "schemas" / "v1" / "proof.schema.json"
    before = schema.read_text()

    schema.write_text(json.dumps(json.loads(before) | {"title": "Edited"}))
    titles = [
        run(bin_ / "python", "-c", print_title, cwd=tmp_path).strip(),
        json.loads(run(bin_ / "forum", "schema", "proof", cwd=tmp_path))["title"],
    ]
    schema.write_text(before)  # other tests compare this copy with a wheel

    assert titles == ["Edited", "Edited"]
