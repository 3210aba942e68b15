"""Requests and keys are sent only to the configured host, and only through the configured proxy."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from acceptance.faulty_runs import formats
from acceptance.model_workflows import (
    HELLO,
    KEY,
    calls,
    check_not_leaked,
    check_valid_by_command,
    model,
    retry_policy,
    run_hello,
    write_workflow,
)
from acceptance.workflow_folder import Folder
from servers.faulty import Act, FaultyServer, Step, does, leaks_key, says
from servers.formats import Format
from servers.http_bytes import Request, response


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work", {"KEY": KEY})


@formats
@pytest.mark.parametrize("status", [301, 307])
def test_a_redirect_to_a_different_host_is_not_followed(
    folder: Folder, server: FaultyServer, format_: Format, status: int
) -> None:
    with FaultyServer() as other:
        server.default_step = does(response(status, headers={"location": f"{other.base_url}/{format_.path}"}))

        result = run_hello(folder, server.base_url, format_)
        (call,) = calls(folder)

        assert (result.code, call.outcome) == (1, "invalid_request"), result
        assert f"redirects to a different server, http://127.0.0.1:{other.port}, and" in call.detail["message"]
        assert (len(server.requests), other.connections) == (1, 0)


@formats
def test_a_host_that_the_policy_does_not_allow_is_refused_before_anything_runs(
    folder: Folder, server: FaultyServer, format_: Format
) -> None:
    allowed = {"allow": {"hosts": ["models.example.com", "127.0.0.1:1"], "env": ["KEY"]}}
    write_workflow(folder, HELLO, {"model": model(format_, server.base_url)}, policy=allowed)

    result = folder.run()

    assert result.code == 6, result
    assert f"127.0.0.1:{server.port}" in result.err
    assert server.connections == 0
    assert folder.files() == {"workflow.yaml"}


@formats
@pytest.mark.parametrize("is_configured", [True, False], ids=["configured", "not configured"])
def test_a_proxy_is_used_only_if_configured(
    folder: Folder, server: FaultyServer, format_: Format, is_configured: bool
) -> None:
    with FaultyServer() as proxy:
        address = f"http://127.0.0.1:{proxy.port}"
        settings = {"proxy_env": "PROXY"} if is_configured else {}
        write_workflow(folder, HELLO, {"model": model(format_, server.base_url, **settings)})

        all_variables = dict.fromkeys(("PROXY", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"), address)
        result = folder.run(env=all_variables)

        paths = [request.path for contacted in (proxy, server) for request in contacted.requests]
        assert result.code == 0, result
        assert (len(proxy.requests), len(server.requests)) == ((1, 0) if is_configured else (0, 1))
        assert paths == [f"{server.base_url}/{format_.path}" if is_configured else f"/v1/{format_.path}"]
        check_valid_by_command(folder)


@formats
def test_an_unset_proxy_variable_is_reported_before_anything_runs(
    folder: Folder, server: FaultyServer, format_: Format
) -> None:
    write_workflow(folder, HELLO, {"model": model(format_, server.base_url, proxy_env="PROXY")})

    result = folder.run()

    assert (result.code, server.connections) == (8, 0), result
    assert "PROXY" in result.err
    assert folder.files() == {"workflow.yaml"}


def _answers_with_key(request: Request) -> list[Act]:
    """Leak the key in the text, split into chunks, and in the model's name."""
    return list(says("my key is ", KEY[:9], KEY[9:], " and so on", model=f"m-{KEY}")(request))


LEAKS: dict[str, tuple[Step, str]] = {
    **{str(status): (leaks_key(status), "failed: error") for status in (400, 401, 429, 500)},
    "in the answer": (_answers_with_key, "passed"),
    "as the finish reason": (says("", finish=f"because of {KEY}"), "failed: error"),
    "in a redirect": (does(response(302, headers={"location": f"/{quote(KEY, safe='')}"})), "failed: error"),
}


@formats
@pytest.mark.parametrize("name", LEAKS)
def test_a_key_that_the_server_repeats_is_in_no_file_and_no_output(
    folder: Folder, server: FaultyServer, format_: Format, name: str
) -> None:
    server.default_step, state = LEAKS[name]
    write_workflow(
        folder, HELLO, {"model": model(format_, server.base_url)}, policy=retry_policy(), outputs={"said": "hello"}
    )

    result = folder.forum("run", "workflow.yaml", "--out", "run", "--progress", "json", "--json")
    outputs = [folder.forum(command, "run") for command in ("show", "log", "trace")]

    assert folder.task_states() == {"hello": state}, result
    assert KEY in " ".join(server.requests[0].headers.values())
    check_not_leaked(KEY, folder.path / "run", result, *outputs)
    check_valid_by_command(folder)


@formats
@pytest.mark.parametrize("progress", ["plain", "tty"])
def test_a_key_that_the_server_repeats_is_not_displayed(
    folder: Folder, server: FaultyServer, format_: Format, progress: str
) -> None:
    server.default_step = leaks_key(401)
    write_workflow(folder, HELLO, {"model": model(format_, server.base_url)})

    result = folder.forum("run", "workflow.yaml", "--out", "run", "--progress", progress)
    health = folder.forum("doctor", "workflow.yaml")

    assert (result.code, health.code) == (1, 1), (result, health)
    assert "the key [scrubbed" in result.out + result.err
    check_not_leaked(KEY, folder.path / "run", result, health)
