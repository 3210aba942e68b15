"""Run directories written by `forum run --deterministic`, in addition to handwritten ones."""

from collections.abc import Iterator
from pathlib import Path

from vector_generator.forum_program import ForumFailed, ForumProgram
from vector_generator.ledgers.case import Case, run_files

COMPARED_FILES = ("ledger.jsonl", "bodies.tar", "wave-plan.json", "outputs")

ROSTER = """
apiVersion: forum/v1
kind: Roster
metadata: {name: small}
adapters: {s: {type: scripted}}
agents: {worker: {domain: work, keywords: [work], tier: cheap, adapter: s}}
---
"""

DELIVERY = """
apiVersion: forum/v1
kind: Plan
metadata: {name: small}
tasks:
  a: {agent: worker, instruction: Write.}
  b: {agent: worker, instruction: Read., needs: [a]}
outputs: {text: {task: b}}
---
apiVersion: forum/v1
kind: Script
metadata: {name: small}
answers:
  - {task: a, attempt: 1, error: {kind: network, message: gone}}
  - {task: a, output: written}
  - {task: b, output: read}
"""

EXPANSION = """
apiVersion: forum/v1
kind: Plan
metadata: {name: small}
tasks:
  a: {agent: worker, instruction: List., output: {type: array}}
  each:
    agent: worker
    instruction: Read.
    foreach: {task: a, as: item, max: 3}
    sensitive: true
outputs: {all: {task: each}}
---
apiVersion: forum/v1
kind: Script
metadata: {name: small}
answers:
  - {task: a, output: [1, 2]}
  - {task: each, output: read}
"""

WORKFLOW = """apiVersion: forum/v1
kind: Workflow
metadata: {name: small}
---
"""

BUNDLES = {
    "deterministic-run": (
        DELIVERY,
        "a deterministic run: one attempt fails, the next succeeds, and its output is delivered",
    ),
    "deterministic-run-with-foreach": (EXPANSION, "a deterministic run with a foreach and salted bodies"),
}


def cases(forum: ForumProgram) -> Iterator[Case]:
    for name, (plan, title) in BUNDLES.items():
        requirements = ("LEDGER-SEMANTICS-001", "LEDGER-DIR-001", "LEDGER-DIR-002", "LEDGER-KIND-002")
        yield Case(name, title, requirements, 4, run_files(_run(forum, WORKFLOW + ROSTER.lstrip() + plan.lstrip())))


def _run(forum: ForumProgram, bundle: str) -> dict[str, bytes]:
    folder = forum.fresh_folder()
    (folder / "workflow.yaml").write_text(bundle, encoding="utf-8")
    out = folder / "out"
    done = forum.call("run", "workflow.yaml", "--deterministic", "--out", str(out), cwd=folder)
    if done.returncode != 0:
        raise ForumFailed(f"a deterministic run exits with {done.returncode}: {done.stderr.decode()}")
    return _read(out)


def _read(directory: Path) -> dict[str, bytes]:
    """The files of LEDGER-DIR-001. Other files of a runner may depend on the machine."""
    paths = (path for path in sorted(directory.rglob("*")) if path.is_file())
    files = {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}
    return {name: content for name, content in files.items() if name.partition("/")[0] in COMPARED_FILES}
