"""`forum-conformance mutate` tests a verifier with mutants and reports the survivors."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import forum_conformance
from forum_conformance.judge import judge
from ledgers import LEDGERS
from suites.schema_cache import command_with_cache

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "forum_conformance", "mutate"]
VERIFIERS = {
    "the judge": [],
    "the judge as a program": ["--entrypoint", "{judge}", "--serve"],
    "forum": ["--entrypoint", f"{sys.executable} -m forum_runner conform", "--serve"],
    "javascript": ["--entrypoint", f"node {ROOT / 'conformance/js/main.js'}", "--serve"],
}
PACKAGE = Path(forum_conformance.__file__).parent


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for cached schema results: a mutant shares most of its entries with its original."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return LEDGERS["two_waves"](tmp_path / "run")


def mutate(*arguments: str | Path, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [*command_with_cache(cache, str(PACKAGE / "__main__.py")), "mutate"] if cache else COMMAND
    return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, check=False)


def wrong_implementation(name: str) -> list[str]:
    return ["--entrypoint", f"{sys.executable} {ROOT / 'conformance/wrong' / name}.py", "--serve"]


def bytes_in(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.requirement("LEDGER-REACH-001")
@pytest.mark.parametrize("verifier", VERIFIERS)
@pytest.mark.parametrize("name", ["two_waves", "redacted"])
def test_a_correct_verifier_catches_every_detectable_mutant(
    verifier: str, name: str, cache: Path, tmp_path: Path
) -> None:
    if verifier == "javascript" and not shutil.which("node"):
        pytest.skip("node is not installed")
    program = shlex.join(command_with_cache(cache, str(PACKAGE / "program" / "__main__.py")))
    options = [word.format(judge=program) for word in VERIFIERS[verifier]]

    result = mutate(LEDGERS[name](tmp_path), *options, "--each", "1", "--json", cache=cache)

    score: dict[str, Any] = json.loads(result.stdout)
    assert (result.returncode, score["survivors"], score["survived"]) == (0, [], 0)
    assert score["caught"] == score["mutants"] - score["out_of_reach"] > 150
    assert score["found_beside"] == score["shown_beside"] == score["out_of_reach"] > 5
    # A ledger truncated at an earlier seal, or sealed again, is undetectable without a checkpoint.
    prefixes = ("rewrite-", "semantic-truncated-and-sealed", "truncated-at-a-line")
    undetectable = {kind for kind, counts in score["kinds"].items() if counts["out_of_reach"]}
    assert all(kind.startswith(prefixes) for kind in undetectable)


def test_survivors_are_listed_and_kept(run_dir: Path, tmp_path: Path) -> None:
    result = mutate(
        run_dir,
        *wrong_implementation("hashes_only"),
        "--kinds",
        "archive-removed*",
        "--seed",
        "5",
        "--keep",
        tmp_path / "kept",
    )

    assert result.returncode == 1
    assert result.stdout.splitlines()[1:] == [
        "  archive-removed  0 of 1 caught",
        "survived: archive-removed #1 (the file): called valid",
        f"to recreate one: forum-conformance mutate {run_dir} --seed 5 --kinds KIND --each NUMBER --keep DIR",
        "1 mutant: 0 of 1 caught (0%)",
        "1 survived",
    ]
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["archive-removed-1"]
    assert judge(tmp_path / "kept" / "archive-removed-1").findings.codes() == ["L301"]


def test_a_survivor_can_be_reproduced_from_seed_kind_and_number(run_dir: Path, tmp_path: Path) -> None:
    options = [str(run_dir), *wrong_implementation("hashes_only"), "--seed", "9"]
    many = mutate(*options, "--kinds", "[ct]*", "--limit", "90", "--json", "--keep", tmp_path / "kept")
    survivor = json.loads(many.stdout)["survivors"][-1]

    again = ["--kinds", survivor["kind"], "--each", str(survivor["number"]), "--keep", tmp_path / "again"]
    mutate(*options, *again)

    name = f"{survivor['kind']}-{survivor['number']}"
    assert survivor["seed"] == 9
    assert bytes_in(tmp_path / "again" / name) == bytes_in(tmp_path / "kept" / name) != bytes_in(run_dir)


def test_an_undetectable_mutant_must_be_caught_with_the_checkpoint_of_the_original(run_dir: Path) -> None:
    result = mutate(run_dir, *wrong_implementation("hashes_only"), "--kinds", "rewrite-of-another-run")

    assert result.returncode == 1
    survivor = "rewrite-of-another-run #1 (every entry): called valid, even with the original's checkpoint"
    assert result.stdout.splitlines()[1:] == [
        "  rewrite-of-another-run  1 undetectable",
        f"survived: {survivor}",
        f"to recreate one: forum-conformance mutate {run_dir} --seed 1 --kinds KIND --each NUMBER --keep DIR",
        "1 mutant",
        "1 undetectable without a checkpoint (LEDGER-REACH-001); with the original's checkpoint, 0 of 1 caught",
        "1 survived",
    ]


def test_a_subset_of_levels_is_tested_only_with_mutants_detectable_at_them(run_dir: Path) -> None:
    options = [str(run_dir), "--kinds", "[cd]*", "--each", "1", "--json"]
    all_levels = json.loads(mutate(*options).stdout)

    result = mutate(*options, *wrong_implementation("hashes_only"), "--level", "1-2")

    two_levels = json.loads(result.stdout)
    assert (result.returncode, two_levels["survived"]) == (0, 0)
    assert 15 < two_levels["mutants"] == two_levels["caught"] < all_levels["mutants"]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("always_invalid", "the verifier calls it invalid"),
        ("crashes", "the verifier did not answer correctly: its process ended without an answer, exit status 1"),
    ],
)
def test_a_verifier_that_rejects_the_unchanged_ledger_gets_no_score(name: str, fault: str, run_dir: Path) -> None:
    result = mutate(run_dir, *wrong_implementation(name))

    assert result.returncode == 1
    assert result.stdout.splitlines()[0] == (
        f"'{run_dir}' is valid, but {fault}; its verdicts on mutants would prove nothing"
    )


def test_the_standard_error_of_a_crashed_verifier_is_printed(run_dir: Path) -> None:
    result = mutate(run_dir, *wrong_implementation("crashes"))

    assert any(line.startswith("  stderr    ") for line in result.stdout.splitlines())


def test_a_verifier_without_some_levels_gets_a_hint_to_use_level(run_dir: Path, tmp_path: Path) -> None:
    code = 'import sys; sys.stdin.read(); print(\'{"protocol": 1, "verdict": "unsupported"}\')'
    (tmp_path / "partial.py").write_text(code)

    result = mutate(run_dir, "--entrypoint", f"{sys.executable} {tmp_path / 'partial.py'}")

    hint = "if it checks only some levels, pass --level, such as --level 1-2"
    fault = f"'{run_dir}' is valid, but the verifier answers 'unsupported' ({hint})"
    assert (result.returncode, result.stdout) == (1, f"{fault}; its verdicts on mutants would prove nothing\n")


def test_parallel_jobs_do_not_change_the_report(run_dir: Path) -> None:
    options = [str(run_dir), *wrong_implementation("hashes_only"), "--kinds", "archive-*", "--json"]

    serial, parallel = (mutate(*options, "--jobs", jobs) for jobs in ("1", "4"))

    assert serial.stdout == parallel.stdout
    assert json.loads(serial.stdout)["survived"] > 0


def test_a_verifier_that_alters_its_input_does_not_change_the_original_ledger(run_dir: Path, tmp_path: Path) -> None:
    program = tmp_path / "alters.py"
    program.write_text(
        "import json, pathlib, sys\n"
        "path = pathlib.Path(json.load(sys.stdin)['input']) / 'ledger.jsonl'\n"
        "path.write_bytes(path.read_bytes() + b'more')\n"
        "print(json.dumps({'protocol': 1, 'verdict': 'valid'}))\n"
    )
    before = bytes_in(run_dir)

    mutate(run_dir, "--entrypoint", f"{sys.executable} {program}", "--limit", "1")

    assert bytes_in(run_dir) == before


def test_the_kinds_can_be_listed_without_a_ledger() -> None:
    result = mutate("--list", "--kinds", "archive-removed*")

    assert (result.returncode, result.stdout) == (0, "archive-removed\n")


def test_an_invalid_ledger_is_refused_with_its_findings(run_dir: Path) -> None:
    (run_dir / "bodies.tar").unlink()

    result = mutate(run_dir)

    assert (result.returncode, result.stdout) == (2, "")
    first, *rest = result.stderr.splitlines()
    assert first == f"forum-conformance: the ledger in '{run_dir}' is not valid, so it cannot be mutated:"
    assert rest[-1] == "L301: bodies.tar is missing or not a regular file"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "no ledger at 'missing'"),
        (["ledger.jsonl"], "'ledger.jsonl' is not a run directory"),
        ([".", "--kinds", "nothing*"], "no kind of mutant matches 'nothing*'; the kinds are: actor-edited, "),
        ([], "PATH is required: a valid run directory"),
        ([".", "--entrypoint", "no-such-program"], "cannot start 'no-such-program': No such file or directory"),
        ([".", "--entrypoint", ""], "the entrypoint is empty"),
    ],
)
def test_usage_errors_are_reported(arguments: list[str], message: str, run_dir: Path) -> None:
    result = subprocess.run([*COMMAND, *arguments], cwd=run_dir, capture_output=True, text=True, check=False)

    assert result.returncode == 2
    assert result.stderr.startswith(f"forum-conformance: {message}")
