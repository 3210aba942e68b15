"""Secrets stay out of the ledger in every encoding."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Executable, Failure, Reply
from forum_runner.app.run_preparation import NoCredentialError, PreparedRun, with_secrets
from forum_runner.errors import UsageError
from forum_runner.execute.secrets import Scrubber
from forum_runner.execute.secrets.secret_forms import SecretForms
from forum_runner.ledger.archive import LARGE_BYTES
from unit.runner.execute.small_runs import RUN, WORK, outputs, plan_of, prepared_run, run

KEY = 'k"y+1 é'
SCRUBBER = Scrubber({"KEY": KEY})


@pytest.mark.requirement("RUN-SECRET-001")
@pytest.mark.parametrize(
    "written",
    [
        KEY.encode(),
        json.dumps(KEY, ensure_ascii=False).encode()[1:-1],
        b"k%22y%2B1%20%C3%A9",
        b"k%22y%2B1+%C3%A9",
        KEY.encode().hex().encode(),
        KEY.encode().hex().upper().encode(),
    ],
)
def test_a_secret_is_found_in_every_encoding(written: bytes) -> None:
    assert SCRUBBER.scrub_bytes(b"<" + written + b">") == b"<[scrubbed: KEY]>"


@pytest.mark.requirement("RUN-SECRET-001")
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", [b"", b"u", b"us", b"use", b"user:"])
def test_a_secret_is_found_inside_base64(encode: Any, before: bytes) -> None:
    secret = bytes(range(0xF0, 0x100)).hex()
    written = encode(before + secret.encode() + b":rest")

    scrubbed = Scrubber({"KEY": secret}).scrub_bytes(written)

    assert b"[scrubbed: KEY]" in scrubbed
    # Only characters that the secret shares with its neighbors may remain.
    assert len(scrubbed) - len(b"[scrubbed: KEY]") <= len(written) - len(secret) * 8 // 6 + 2


@pytest.mark.requirement("RUN-SECRET-001")
def test_the_longest_secret_is_replaced_first() -> None:
    scrubber = Scrubber({"SHORT": "abcd", "LONG": "abcdefgh"})

    assert scrubber.scrub_bytes(b"abcdefgh abcd") == b"[scrubbed: LONG] [scrubbed: SHORT]"


@pytest.mark.requirement("RUN-SECRET-001")
@pytest.mark.parametrize(("value", "scrubbed"), [("abc", b"abc"), ("abcd", b"[scrubbed: KEY]")])
def test_a_secret_of_three_characters_is_not_scrubbed(value: str, scrubbed: bytes) -> None:
    assert Scrubber({"KEY": value}).scrub_bytes(value.encode()) == scrubbed


@pytest.mark.requirement("RUN-SECRET-002")
def test_a_reply_is_scrubbed_in_all_its_parts() -> None:
    reply = Reply(
        content=b"hunter2\n",
        failure=Failure(ErrorKind.NETWORK, "at hunter2", 5),
        executable=Executable("/bin/hunter2", "0" * 64),
        stderr=b"hunter2",
        model="hunter2",
        finish="hunter2",
    )

    scrubbed = "[scrubbed: KEY]"
    assert Scrubber({"KEY": "hunter2"}).scrub_reply(reply) == Reply(
        content=scrubbed.encode(),
        failure=Failure(ErrorKind.NETWORK, f"at {scrubbed}", 5),
        executable=Executable(f"/bin/{scrubbed}", "0" * 64),
        stderr=scrubbed.encode(),
        model=scrubbed,
        finish=scrubbed,
    )


@pytest.mark.requirement("RUN-SECRET-002")
def test_downstream_tasks_get_the_scrubbed_output() -> None:
    task = {**WORK, "needs": ["a"]}

    recorded = run({"a": RUN, "out": task}, outputs(a="key: hunter2", out="x"), scrubbed={"KEY": "hunter2"})

    assert recorded.only("task.finished", "a").bodies == {"output": b"key: [scrubbed: KEY]"}
    assert recorded.only("edge.delivered").bodies == {"value": b"key: [scrubbed: KEY]"}


def prepared(plan: Any, answers: Any = None) -> PreparedRun:
    return prepared_run(plan, Path(), answers)


def with_token(instruction: str = "Use ${{ inputs.token }}.") -> Any:
    return plan_of({"a": {**WORK, "instruction": instruction}}, inputs={"token": {"type": "string", "secret": True}})


@pytest.mark.requirement("RUN-SECRET-003")
def test_a_secret_value_in_the_plan_is_rejected() -> None:
    with pytest.raises(UsageError, match="the workflow contains the value of token"):
        with_secrets(prepared(with_token("Use hunter2 for ${{ inputs.token }}.")), {"token": "hunter2"})


@pytest.mark.requirement("RUN-SECRET-003")
def test_a_secret_value_in_the_script_is_rejected() -> None:
    with pytest.raises(UsageError, match="the script contains the value of token"):
        with_secrets(prepared(with_token(), [{"output": "hunter2"}]), {"token": "hunter2"})


@pytest.mark.requirement("RUN-SECRET-003")
def test_a_secret_without_a_value_is_rejected() -> None:
    with pytest.raises(UsageError, match="the secret input 'token' has no value"):
        with_secrets(prepared(with_token()), {})


@pytest.mark.requirement("RUN-SECRET-003")
def test_a_scripted_run_needs_no_secret_values() -> None:
    assert with_secrets(prepared(with_token(), []), {}).secrets == {"token": "[secret: token]"}


@pytest.mark.requirement("RUN-SECRET-001", "RUN-SECRET-003", "RUN-EXIT-001")
def test_a_credential_is_scrubbed_and_a_run_without_it_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = {"type": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "m", "api_key_env": "MODEL_KEY"}
    roster = {"adapters": {"m": adapter}, "agents": {"writer": {"adapter": "m"}}}
    plan = plan_of({"a": WORK}, roster=roster, policy={"allow": {"env": ["MODEL_KEY"]}})

    monkeypatch.setenv("MODEL_KEY", "hunter2")
    assert with_secrets(prepared(plan), {}).scrubbed == {"MODEL_KEY": "hunter2"}

    monkeypatch.delenv("MODEL_KEY")
    with pytest.raises(NoCredentialError) as error:
        with_secrets(prepared(plan), {})
    assert error.value.exit_code == 8


@pytest.mark.requirement("RUN-SECRET-001")
def test_variables_named_by_the_policy_are_scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2")
    plan = plan_of({"a": WORK}, policy={"privacy": {"scrub_env": ["DEPLOY_TOKEN", "NOT_SET"]}})

    assert with_secrets(prepared(plan), {}).scrubbed == {"DEPLOY_TOKEN": "hunter2"}


LONG = "sk-" + "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" + "/+=" + "z" * 20


@pytest.mark.requirement("RUN-SECRET-001")
@pytest.mark.parametrize(
    "written",
    [
        base64.encodebytes(LONG.encode()),
        json.dumps(base64.encodebytes(LONG.encode()).decode()).encode(),
        "".join(f"%{byte:02X}" for byte in LONG.encode()).encode(),
        "".join(f"%{byte:02x}" for byte in LONG.encode()).encode(),
        LONG.encode().hex().upper().encode(),
    ],
    ids=["wrapped", "wrapped in JSON", "every byte escaped", "every byte escaped, in lower case", "hexadecimal"],
)
def test_a_long_secret_is_found_in_every_encoding(written: bytes) -> None:
    scrubbed = Scrubber({"KEY": LONG}).scrub_bytes(b"before " + written + b" after")

    assert b"scrubbed: KEY" in scrubbed
    assert not any(part in scrubbed for part in (written[:24], written[-24:-4]))


@pytest.mark.requirement("RUN-SECRET-001")
def test_parts_of_a_secret_next_to_a_truncation_are_scrubbed() -> None:
    failure = Failure(ErrorKind.OUTPUT_LIMIT, "too long")
    errors = b"x " + LONG[:30].encode() + b"\n[99 bytes left out]\n" + LONG[40:].encode() + b" y"

    reply = Scrubber({"KEY": LONG}).scrub_reply(Reply(b"a " + LONG[:50].encode(), failure, stderr=errors))

    assert reply.content == b"a [scrubbed]"
    assert reply.stderr == b"x [scrubbed]\n[99 bytes left out]\n[scrubbed] y"


@pytest.mark.requirement("RUN-SECRET-001")
@pytest.mark.parametrize("before", [0, 5, LARGE_BYTES - 3, 2 * LARGE_BYTES - 5])
@pytest.mark.parametrize("after", [0, 1, LARGE_BYTES])
def test_a_secret_is_found_anywhere_in_a_large_text(before: int, after: int) -> None:
    scrubber = Scrubber({"KEY": KEY, "LONG": LONG})
    written = KEY.encode() + LONG.encode() + b"<" + KEY.encode().hex().encode() + b">"
    scrubbed = b"[scrubbed: KEY][scrubbed: LONG]<[scrubbed: KEY]>"
    around = b"x" * before, b"y" * (after + LARGE_BYTES)

    assert scrubber.scrub_bytes(written.join(around)) == scrubbed.join(around)


def test_a_large_text_without_a_secret_is_not_copied() -> None:
    text = bytes(LARGE_BYTES + 1)

    assert SCRUBBER.scrub_bytes(text) is text


ENCODINGS: dict[str, Callable[[Random, bytes], bytes]] = {
    "plain": lambda _, value: value,
    "json": lambda _, value: json.dumps(value.decode(errors="surrogatepass"))[1:-1].encode(),
    "hex": lambda r, value: r.choice((value.hex(), value.hex().upper())).encode(),
    "url": lambda r, value: b"".join(
        r.choice((b"%%%02x" % byte, b"%%%02X" % byte, b"+" if byte == 0x20 else bytes([byte]))) for byte in value
    ),
    "base64": lambda r, value: r.choice((base64.b64encode, base64.urlsafe_b64encode))(
        r.randbytes(r.randrange(9)) + value + r.randbytes(r.randrange(9))
    ),
}
WRAPS = (b"", b"", b"\n", b"\r\n", b"\\n", b"\\r\\n")
AROUND = (b"", b"\\", b"%", b"%a", b"\\r", b"\n", b"n", b"r", b"=", b"\\\n")


@pytest.mark.requirement("RUN-SECRET-001")
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("number", range(60))
def test_the_search_in_large_texts_finds_everything_the_scrubber_finds(encoding: str, number: int) -> None:
    r = Random(f"{encoding}/{number}")  # noqa: S311 - reproducible on purpose
    alphabet = r.choice(("abcdefnr0123456789", 'ab%+ "\\/é\n', "anrN \U0001f600"))
    value = "".join(r.choice(alphabet) for _ in range(r.randrange(4, 30)))
    written = ENCODINGS[encoding](r, value.encode())
    if encoding == "base64":
        written = b"".join(bytes([character]) + r.choice(WRAPS) for character in written)
    text = r.choice(AROUND) + written + r.choice(AROUND)

    is_found = Scrubber({"KEY": value}).contains_secret(text)

    assert not is_found or SecretForms("KEY", value).may_occur_in(text)
