"""The JavaScript implementation in a real browser: the vectors of its roles, and the page in its README."""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from acceptance.browser import ROOT, PageFailed, Site, find_browser, open_page, serve_site
from acceptance.workflow_folder import MODEL, Folder, ask
from forum_conformance.suite.answer import read_answer
from forum_conformance.suite.client import Reply
from forum_conformance.suite.vector_runner import VectorRunner
from forum_conformance.suite.vectors import Vectors, default_folder

Change = Callable[[Path], None]
ROLES = ("canonicalize", "verify", "prove")
ANSWERS = [{"task": "draft", "output": "Notes: añade"}, {"task": "polish", "output": "# Notes\n"}]
TASKS = {"draft": ask("Write."), "polish": ask("Polish.", needs=["draft"])}


@pytest.fixture
def browser() -> str:
    """The path of an installed browser. Without one, the test is skipped, except in CI."""
    path = find_browser()
    if path is None:
        if "CI" in os.environ:
            pytest.fail("no browser is installed")
        pytest.skip("no browser is installed")
    return path


class Client:
    """Sends requests to a page instead of a process, with paths relative to its site."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def send(self, request: Mapping[str, Any]) -> Reply:
        top = str(self._site.folder)
        translated = {
            name: value.removeprefix(top) if isinstance(value, str) else value for name, value in request.items()
        }
        answer = read_answer(self._site.ask(translated), id_=request["id"], requires_id=True)
        return Reply(answer, None, None, 0, "")

    def close(self) -> str | None:
        return None


def test_every_vector_of_its_roles_passes_in_a_browser(browser: str, tmp_path: Path) -> None:
    vectors = Vectors(default_folder())
    cases = [case for case in vectors.cases.values() if case.role in ROLES]

    with serve_site(tmp_path / "site") as site, open_page(site, browser, 'import "./conformance/js/test/page.js";'):
        scratch = site.folder / "scratch"
        scratch.mkdir()
        outcomes = [VectorRunner(vectors, None, scratch).run(case, Client(site)) for case in cases]

    assert {outcome.case.id: outcome.differences for outcome in outcomes if outcome.differences} == {}
    assert {case.area for case in cases} == {"canonical", "ledger", "proofs"}
    assert len(outcomes) >= 900


@pytest.fixture(scope="module")
def signed_run(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The files that the README's page reads: a run, a signed checkpoint and a signed proof."""
    folder = Folder(tmp_path_factory.mktemp("signed"))
    folder.write(TASKS, roster=MODEL, answers=ANSWERS, outputs={"notes": "polish"})
    assert folder.run("--deterministic").code == 0
    for name in ("key", "other"):
        assert folder.forum("keygen", f"example.org/{name}", "-o", name).code == 0
    assert folder.forum("checkpoint", "run", "--key", "key", "-o", "checkpoint.signed").code == 0
    assert folder.forum("prove", "inclusion", "run", "--seq", "3", "--key", "key", "-o", "proof.json").code == 0
    return folder


def readme_module() -> str:
    readme = (ROOT / "conformance" / "js" / "README.md").read_text(encoding="utf-8")
    (module,) = re.findall(r"^```js\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    assert isinstance(module, str)
    return module


def report_in_browser(browser: str, site: Site) -> dict[str, Any]:
    """The document that the README's page displays."""
    send_report = 'await fetch("/report", { method: "POST", body: document.body.textContent });'
    with open_page(site, browser, readme_module() + send_report):
        displayed: dict[str, Any] = json.loads(site.next_report())
    return displayed


def report_by_forum(folder: Folder) -> dict[str, Any]:
    report = folder.forum("verify", "run", "--checkpoint", "checkpoint.signed", "--key", "key.pub", "--json")
    proof = folder.forum("verify", "--proof", "proof.json", "--key", "key.pub", "--json").document()
    codes = sorted({finding["code"] for finding in proof["findings"]})
    return {"report": report.document(), "proof": {"verdict": proof["verdict"], "codes": codes}}


def without_messages(displayed: dict[str, Any]) -> dict[str, Any]:
    """Remove the texts, which differ between implementations."""
    for finding in displayed["report"]["findings"]:
        del finding["sentence"]
    for level in displayed["report"]["levels"]:
        del level["reason"]
    return displayed


def replace(name: str, old: bytes, new: bytes) -> Change:
    def change(folder: Path) -> None:
        data = (folder / name).read_bytes()
        assert old in data
        (folder / name).write_bytes(data.replace(old, new, 1))

    return change


def drop_last_line(folder: Path) -> None:
    ledger = folder / "run" / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))


def swap_key(folder: Path) -> None:
    (folder / "other.pub").replace(folder / "key.pub")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda _: None, ("valid", [], None, []), id="unchanged"),
        pytest.param(
            replace("run/ledger.jsonl", b'"attempt":1', b'"attempt":2'), ("invalid", ["L201"], 3, []), id="entry"
        ),
        pytest.param(drop_last_line, ("invalid", ["L501", "L508"], None, []), id="tail"),
        pytest.param(replace("run/bodies.tar", b"Notes: ", b"Nodes: "), ("invalid", ["L303"], 3, []), id="body"),
        pytest.param(replace("run/outputs/notes.txt", b"#", b"="), ("invalid", ["L308"], 10, []), id="output"),
        pytest.param(replace("proof.json", b"wall_ms", b"wall_us"), ("valid", [], None, ["L602"]), id="proof"),
        pytest.param(swap_key, ("invalid", ["L510"], None, ["L510"]), id="key"),
    ],
)
def test_the_page_in_the_readme_reports_the_same_as_forum(
    browser: str,
    tmp_path: Path,
    signed_run: Folder,
    change: Change,
    expected: tuple[str, list[str], int | None, list[str]],
) -> None:
    with serve_site(tmp_path / "site") as site:
        folder = Folder(site.folder)
        shutil.copytree(signed_run.path, folder.path, dirs_exist_ok=True)
        change(folder.path)

        displayed = report_in_browser(browser, site)

    report, proof = displayed["report"], displayed["proof"]
    assert without_messages(displayed) == without_messages(report_by_forum(folder))
    assert (report["verdict"], report["codes"], report["first_bad_seq"], proof["codes"]) == expected


def test_a_page_whose_module_is_missing_fails(browser: str, tmp_path: Path) -> None:
    with (
        serve_site(tmp_path / "site") as site,
        open_page(site, browser, 'import "./conformance/js/missing.js";'),
        pytest.raises(PageFailed, match="cannot load"),
    ):
        site.next_report()
