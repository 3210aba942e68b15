"""Secrets that programs print in any encoding, and secret inputs, appear in no file of a run and in no output."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from acceptance.workflow_folder import MODEL, SHELL, Folder, Result, all_bytes_in, check_valid, sh

KEY = "sk-7f/Q+9=x&\"Zw'tail"
MULTILINE = "-----BEGIN-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END-----"
NOT_ASCII = "pässwörd-73-ñ"
# Print the secret in every known encoding on both streams and exit with the given status.
LEAK = """
import base64, json, os, sys, urllib.parse
text = os.environ.get("KEY") or sys.argv[1]
raw = text.encode()
forms = [text, urllib.parse.quote(text), urllib.parse.quote(text, safe=""), urllib.parse.quote_plus(text), raw.hex()]
forms += [json.dumps(text), json.dumps(text, ensure_ascii=False), json.dumps({"nested": [text]})]
for offset in range(4):
    padded = b"~" * offset + raw + b"#rest"
    forms += [base64.b64encode(padded).decode(), base64.urlsafe_b64encode(padded).decode()]
text = chr(10).join(forms)
print(text)
print(text, file=sys.stderr)
sys.exit(int(sys.argv[-1]))
"""
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{8,}")
POLICY = {"allow": {"commands": ["python3", "sh"], "env": ["PATH", "KEY"]}, "on_failure": "continue"}
ROSTER = {
    "adapters": {"shell": {"type": "command", "env": ["PATH", "KEY"]}},
    "agents": {"operator": {"adapter": "shell"}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "work")
    folder.path.mkdir()
    (folder.path / "leak.py").write_text(LEAK, encoding="utf-8")
    return folder


def leak(*arguments: str, status: int = 0, **fields: object) -> dict[str, object]:
    return {"agent": "operator", "run": ["python3", "leak.py", *arguments, str(status)], **fields}


def encodings_found(data: bytes, secret: str) -> list[str]:
    """The encodings in which data contains a secret."""
    plain = secret.encode()
    escaped = json.dumps(secret)[1:-1].encode()
    forms = {
        "plain": plain,
        "in JSON": escaped,
        "in JSON, not escaped": json.dumps(secret, ensure_ascii=False)[1:-1].encode(),
        "quoted": quote(secret).encode(),
        "quoted with slashes": quote(secret, safe="").encode(),
        "quoted as a form": quote_plus(secret).encode(),
        "hexadecimal": plain.hex().encode(),
    }
    encodings = [name for name, encoded in forms.items() if encoded in data]
    return encodings + ["base64"] * any(plain in decoded for decoded in _decode_base64(data))


def _decode_base64(data: bytes) -> Iterator[bytes]:
    for run in _BASE64.findall(data):
        text = run.replace(b"-", b"+").replace(b"_", b"/")
        for start in range(4):
            part = text[start:]
            yield base64.b64decode(part[: len(part) // 4 * 4] + b"")


def check_no_leak(folder: Folder, secret: str, *results: Result, out: str = "run") -> None:
    printed = "\n".join(result.out + result.err for result in results).encode()

    assert encodings_found(all_bytes_in(folder.path / out), secret) == []
    assert encodings_found(printed, secret) == []


@pytest.mark.parametrize("secret", [KEY, MULTILINE, NOT_ASCII], ids=["ascii", "lines", "not-ascii"])
def test_a_scrubbed_variable_that_a_program_prints_is_not_leaked(folder: Folder, secret: str) -> None:
    tasks = {
        "printed": leak(),
        "forwarded": {"agent": "operator", "run": ["sh", "-c", "cat; cat >&2"], "needs": ["printed"]},
        "failed": leak(status=3),
    }
    policy = {**POLICY, "privacy": {"scrub_env": ["KEY"]}}
    folder.write(tasks, roster=ROSTER, policy=policy, outputs={"printed": "printed", "forwarded": "forwarded"})
    summary = {"GITHUB_STEP_SUMMARY": str(folder.path / "run/summary.md"), "KEY": secret}
    arguments = ("run", "workflow.yaml", "--out", "run")

    result = folder.forum(*arguments, "--progress", "plain", env=summary)
    outputs = [folder.forum(name, "run") for name in ("show", "log", "replay", "verify")]

    assert result.code == 1, result
    assert folder.task_states() == {"printed": "passed", "forwarded": "passed", "failed": "failed: error"}
    assert "[scrubbed: KEY]" in folder.read("run/outputs/printed.txt")
    check_no_leak(folder, secret, result, *outputs)
    (folder.path / "run/summary.md").unlink()
    check_valid(folder.path / "run")


@pytest.mark.parametrize("options", [["--progress", "tty"], ["--progress", "json"], ["--progress", "none", "--json"]])
def test_no_progress_format_leaks_a_scrubbed_variable(folder: Folder, options: list[str]) -> None:
    policy = {**POLICY, "privacy": {"scrub_env": ["KEY"]}}
    folder.write(
        {"failed": leak(status=3), "printed": leak()}, roster=ROSTER, policy=policy, outputs={"printed": "printed"}
    )

    result = folder.forum("run", "workflow.yaml", "--out", "run", *options, env={"KEY": KEY})

    assert result.code == 1, result
    check_no_leak(folder, KEY, result)


def test_a_secret_input_reaches_its_task_and_is_not_leaked(folder: Folder) -> None:
    written = {
        "agent": "operator",
        "run": ["sh", "-c", 'test "$1" = "$(cat expected)" && cat', "sh", "${{ inputs.token }}"],
        "instruction": "The token is ${{ inputs.token }}",
    }
    gated = {
        **sh("echo ok"),
        "done_when": ["it is ${{ inputs.token }}"],
        "gate": {"question": "With ${{ inputs.token }}?"},
    }
    tasks = {"leaks": leak("${{ inputs.token }}"), "fails": leak("${{ inputs.token }}", status=1)}
    inputs = {"token": {"type": "string", "secret": True}}
    folder.write({**tasks, "written": written, "gated": gated}, policy=POLICY, inputs=inputs)
    (folder.path / "expected").write_text(KEY, encoding="utf-8")

    paused = folder.run("--input", f"token={KEY}")
    listed = folder.forum("gate", "list", "run")
    folder.forum("gate", "approve", "run", "gated", "--by", "ann")
    without_token = folder.forum("resume", "run")
    resumed = folder.forum("resume", "run", "--input", f"token={KEY}")

    assert (paused.code, without_token.code, resumed.code) == (5, 2, 1), (paused, without_token, resumed)
    assert "the secret input 'token' has no value; pass it in a file with --inputs FILE, or with" in without_token.err
    states = {"leaks": "passed", "written": "passed", "gated": "passed", "fails": "failed: error"}
    assert folder.task_states() == states
    check_no_leak(folder, KEY, paused, listed, without_token, resumed)
    check_valid(folder.path / "run")


def test_a_secret_in_the_workflow_or_its_script_is_refused_before_anything_is_written(
    folder: Folder,
) -> None:
    policy = {**POLICY, "privacy": {"scrub_env": ["KEY"]}}
    folder.write({"said": sh(f"echo {NOT_ASCII}")}, policy=policy)
    in_plan = folder.run(env={"KEY": NOT_ASCII})
    folder.write({"said": sh("echo")}, policy=policy, answers=[{"task": "said", "output": f"it is {NOT_ASCII}"}])
    in_script = folder.run("--scripted", env={"KEY": NOT_ASCII})

    assert (in_plan.code, in_script.code) == (2, 2), (in_plan, in_script)
    assert "the workflow contains the value of KEY" in in_plan.err
    assert "the script contains the value of KEY" in in_script.err
    assert not (folder.path / "run").exists()


def test_text_entered_at_a_gate_is_scrubbed(folder: Folder) -> None:
    policy = {**POLICY, "privacy": {"scrub_env": ["KEY"]}}
    gated_task = {"agent": "writer", "instruction": "Write.", "gate": {"question": "Now?"}}
    roster = {"adapters": {**SHELL["adapters"], **MODEL["adapters"]}, "agents": {**MODEL["agents"]}}
    folder.write({"asked": gated_task}, roster=roster, policy=policy, answers=[{"output": "done"}])
    folder.run("--scripted")

    arguments = ("gate", "edit", "run", "asked", "--by", "ann")
    texts = ("--instruction", f"Use {KEY}.", "--reason", f"{KEY} is needed")
    edited = folder.forum(*arguments, *texts, env={"KEY": KEY})
    resumed = folder.forum("resume", "run", env={"KEY": KEY})

    assert (edited.code, resumed.code) == (0, 0), (edited, resumed)
    check_no_leak(folder, KEY, edited, resumed)
    decided = folder.entries("run", "gate.decided")[0]
    assert folder.body("run", decided, "edited") == b"Use [scrubbed: KEY]."
    check_valid(folder.path / "run")


def test_a_credential_is_not_leaked(folder: Folder) -> None:
    """The server is unreachable: the error messages about the request must not contain the key."""
    model = {**MODEL["adapters"]["model"], "api_key_env": "KEY"}
    roster = {"adapters": {"model": model}, "agents": MODEL["agents"]}
    folder.write({"asked": {"agent": "writer", "instruction": "Write."}}, roster=roster)
    secret = "sk-only-letters-73"  # noqa: S105 - made up

    result = folder.run(env={"KEY": secret})
    health = folder.forum("doctor", "workflow.yaml", env={"KEY": secret})

    assert (result.code, health.code) == (1, 1), (result, health)
    assert folder.task_states() == {"asked": "failed: error"}
    check_no_leak(folder, secret, result, health)
