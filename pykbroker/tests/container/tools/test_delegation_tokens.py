"""What a command must be told; compat_tests/security has the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.container.tools.table import main


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--describe"], 'Missing required argument "[command-config]"'),
        (["--create", "--command-config", "c"], 'Missing required argument "[max-life-time-period]"'),
        (["--renew", "--command-config", "c", "--hmac", "x"], 'Missing required argument "[renew-time-period]"'),
        (["--expire", "--command-config", "c", "--expiry-time-period", "-1", "--hmac", "?"], "--hmac is not base64"),
        (
            ["--expire", "--command-config", "c", "--expiry-time-period", "-1", "--hmac", "\u00e9"],
            "--hmac is not base64",
        ),
        (["--describe", "--command-config", "c", "--owner-principal", "ann"], "but got ann"),
        (["--describe", "--renew", "--command-config", "c"], "Command must include exactly one action"),
    ],
)
def test_refusals(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c").touch()
    assert main("kafka-delegation-tokens", ["--bootstrap-server", "127.0.0.1:1", *words]) == 1
    assert told in capsys.readouterr().err
