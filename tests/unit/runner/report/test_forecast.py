"""The text report of a dry run."""

from forum_runner.report.forecast_text import Forecast, TaskForecast, render_forecast


def test_all_amounts_of_a_budget_are_shown_and_an_amount_of_one_in_the_singular() -> None:
    task = TaskForecast("a", 0, "operator", "shell", "run", None, 1, 0, 0, 0)
    maximum = {"calls": 1, "input_tokens": 0, "output_tokens": 0, "micro_usd": 0, "tokens": 0}
    limits = {"calls": 1, "tokens": 1, "input_tokens": 1, "output_tokens": 1, "micro_usd": 0, "output_bytes": 1}
    forecast = Forecast("one", "0" * 64, 1, (task,), maximum, {**limits, "wall_ms": 2_000})

    assert render_forecast(forecast) == (
        "one: 1 task in 1 wave; dry run\n"
        "\n"
        "wave  task  agent     adapter        calls\n"
        "1     a     operator  shell    runs      1\n"
        "\n"
        "at most   1 call\n"
        "budget    1 call, 1 token, 1 input token, 1 output token, $0.0000, 1 output byte, 2.0s\n"
        f"digest    {'0' * 64}\n"
    )


def test_unset_variables_are_named() -> None:
    forecast = Forecast("one", "0" * 64, 0, (), {"calls": 0}, {}, ("KEY", "PROXY"))

    assert "\nnot set   KEY, PROXY (required to start a run)\n" in render_forecast(forecast)
