"""Commands in a container."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pykbroker.cli.serve_options import configuration, parser
from pykbroker.container.command import defaults, main


@pytest.mark.parametrize(
    ("words", "added"),
    [
        ([], ["--listen", "0.0.0.0:9092", "--advertise", "as-reached"]),
        (["--advertise", "localhost:19092"], ["--listen", "0.0.0.0:9092"]),
        (["--listen", "0.0.0.0:9094"], ["--advertise", "as-reached"]),
        (["--listen", "0.0.0.0:9094", "--advertise", "localhost:9094"], []),
        (["--set", "listeners=PLAINTEXT://:9092"], []),
        (["--set", "advertised.listeners=PLAINTEXT://a:1"], ["--listen", "0.0.0.0:9092"]),
        (["--config", "server.properties"], []),
        (["--security", "sasl_ssl"], ["--listen", "0.0.0.0:9092"]),
    ],
)
def test_a_broker_listens_on_all_addresses_unless_it_is_said(words: list[str], added: list[str]) -> None:
    assert defaults(words) == added


def test_an_advertised_address_alone_is_not_what_it_listens_on() -> None:
    words = ["--advertise", "localhost:19092"]
    config = configuration(parser().parse_args([*words, *defaults(words)]))
    assert [(listener.host, listener.port) for listener in config.listeners] == [("0.0.0.0", 9092)]
    assert [(listener.host, listener.port) for listener in config.advertised_listeners] == [("localhost", 19092)]


@pytest.mark.parametrize(
    ("environment", "running", "expected"),
    [
        ({}, False, "/var/lib/pykbroker/data"),
        ({}, True, "/data/kafka"),
        ({"PYKBROKER_DATA_DIR": "/mine"}, True, "/mine"),
    ],
)
def test_commands_find_the_log_directory_of_the_broker_that_runs(
    environment: dict[str, str],
    running: bool,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PYKBROKER_DATA_DIR", "")
    monkeypatch.setattr("sys.argv", [])
    if running:
        (tmp_path / "ready.json").write_text(json.dumps({"data_dir": "/data/kafka"}))
    assert main(["--version"], environment, tmp_path / "ready.json") == 0
    assert capsys.readouterr().out.startswith("pykbroker ")
    assert os.environ["PYKBROKER_DATA_DIR"] == expected
