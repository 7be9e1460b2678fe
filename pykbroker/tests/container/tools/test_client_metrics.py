"""What of the options fits together."""

from __future__ import annotations

import pytest

from pykbroker.container.tools.table import main


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--alter"], "One of --name or --generate-name must be specified with --alter."),
        (["--alter", "--name", "m", "--generate-name"], "One of --name or --generate-name must be specified"),
        (["--delete"], "A client metrics resource name must be specified with --delete."),
        (["--describe", "--interval", "5"], 'Option "[describe]" can\'t be used with option "[interval]"'),
        (["--list", "--name", "m"], 'Option "[list]" can\'t be used with option "[name]"'),
        (["--list", "--describe"], "Command must include exactly one action"),
    ],
)
def test_refusals(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("kafka-client-metrics", ["--bootstrap-server", "127.0.0.1:1", *words]) == 1
    assert told in capsys.readouterr().err
