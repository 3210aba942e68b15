"""Run vectors: secrets in prompts, scripts and wave plans."""

import json

from vector_generator.runs.case import Case, Count, EarlierRun, EntryClaim, ManifestPart, entry, replace, workflow

_SECRET = workflow(
    {
        "ask": {"agent": "writer", "instruction": "Log in with ${{ inputs.key }}."},
        "call": {
            "agent": "operator",
            "run": ["make", "${{ needs.ask }}sesame", "--key", "${{ inputs.key }}"],
            "needs": ["ask"],
        },
    },
    [{"task": "ask", "output": "open"}, {"output": "done"}],
    inputs={"key": {"type": "string", "secret": True}},
)
_GIVEN = {"inputs.json": json.dumps({"key": "opensesame"}).encode()}
_WITH_INPUTS: ManifestPart = {"action": "run", "inputs": "inputs.json"}
_ENCODED = workflow(
    {
        "ask": {"agent": "operator", "run": ["make", "ask"], "output": {"type": "object"}},
        "call": {
            "agent": "operator",
            "run": [
                "make",
                "x${{ needs.hex }}6d65",
                "${{ needs.percent }}same",
                "<${{ needs.base64 }}ZXNhbWU=>",
            ],
            "needs": [
                {"task": "ask", "select": "/hex", "as": "hex"},
                {"task": "ask", "select": "/percent", "as": "percent"},
                {"task": "ask", "select": "/base64", "as": "base64"},
            ],
        },
    },
    [
        {"task": "ask", "output": {"hex": "6f70656e2073657361", "percent": "open+%73e", "base64": "b3BlbiBz"}},
        {"output": "done"},
    ],
    inputs={"key": {"type": "string", "secret": True}},
)

CASES: tuple[Case, ...] = (
    Case(
        "secret-by-name",
        "Without a value for a secret, the prompt contains its name; the ledger is the same in either case",
        ("RUN-SECRET-003", "RUN-PROMPT-009", "RUN-TEXT-001"),
        _SECRET,
        (
            EntryClaim("task.started", {"task": "ask"}, bodies={"prompt": {"text": "Log in with [secret: key]."}}),
            EntryClaim(
                "task.started",
                {"task": "call"},
                bodies={
                    "prompt": {
                        "argv": ["make", "opensesame", "--key", "[secret: key]"],
                    }
                },
            ),
        ),
    ),
    Case(
        "secret-scrubbed",
        "If other text contains the value of a secret, the value is scrubbed from the ledger",
        ("RUN-SECRET-001", "RUN-SECRET-002", "RUN-PROMPT-009"),
        _SECRET,
        (
            EntryClaim("task.started", {"task": "ask"}, bodies={"prompt": {"text": "Log in with [secret: key]."}}),
            EntryClaim(
                "task.started",
                {"task": "call"},
                bodies={
                    "prompt": {
                        "argv": ["make", "[scrubbed: key]", "--key", "[secret: key]"],
                    }
                },
            ),
        ),
        request=_WITH_INPUTS,
        files=_GIVEN,
    ),
    Case(
        "secret-scrubbed-in-other-encodings",
        "A secret is also scrubbed in hexadecimal, percent-encoding and base64",
        ("RUN-SECRET-001", "RUN-SECRET-002"),
        _ENCODED,
        (
            EntryClaim(
                "task.started",
                {"task": "call"},
                bodies={
                    "prompt": {
                        "argv": ["make", "x[scrubbed: key]", "[scrubbed: key]", "<[scrubbed: key]U=>"],
                    }
                },
            ),
        ),
        request=_WITH_INPUTS,
        files={"inputs.json": json.dumps({"key": "open sesame"}).encode()},
    ),
    Case(
        "secret-scrubbed-and-failed",
        "The prompt of a failed call is scrubbed as well",
        ("RUN-SECRET-001", "RUN-SECRET-002", "RUN-PROMPT-009"),
        replace(_SECRET, "script", "answers", 1, to={"error": {"kind": "exit_status"}}),
        (
            EntryClaim(
                "task.started",
                {"task": "call"},
                bodies={
                    "prompt": {
                        "argv": ["make", "[scrubbed: key]", "--key", "[secret: key]"],
                    }
                },
            ),
            entry("task.ended", task="call", state="failed"),
        ),
        "failed",
        derived_from="secret-scrubbed",
        change="the program fails",
        request=_WITH_INPUTS,
        files=_GIVEN,
    ),
    Case(
        "secret-in-the-script",
        "A run is refused if the script contains the value of a secret",
        ("RUN-SECRET-003",),
        replace(_SECRET, "script", "answers", 1, "output", to="it is opensesame"),
        (),
        None,
        derived_from="secret-scrubbed",
        change="an answer of the script contains the value",
        request=_WITH_INPUTS,
        files=_GIVEN,
    ),
    Case(
        "secret-in-the-plan",
        "A run is refused if the wave plan contains the value of a secret",
        ("RUN-SECRET-003",),
        replace(_SECRET, "plan", "tasks", "ask", "instruction", to="Say opensesame to ${{ inputs.key }}."),
        (),
        None,
        derived_from="secret-scrubbed",
        change="an instruction contains the value",
        request=_WITH_INPUTS,
        files=_GIVEN,
    ),
    Case(
        "secret-too-short",
        "A secret of three characters is refused, because scrubbing it would also scrub other text",
        ("RUN-SECRET-001",),
        _SECRET,
        (),
        None,
        derived_from="secret-scrubbed",
        change="the value has three characters",
        request=_WITH_INPUTS,
        files={"inputs.json": json.dumps({"key": "abc"}).encode()},
    ),
    Case(
        "secret-prevents-reuse",
        "A task that uses a secret is not reused, even if nothing changed",
        ("RUN-REUSE-003",),
        _SECRET,
        (Count(0, "task.reused"), Count(2, "task.started")),
        request={"action": "run"},
        base=EarlierRun(),
    ),
)
