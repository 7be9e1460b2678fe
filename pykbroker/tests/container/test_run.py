"""What a container does, up to the broker: that this serves is seen in compat_tests/image."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.container.formatting import formatted
from pykbroker.container.run import configure, launch, prepare, run

ID = "4L6g3nShT-eMCtK--X86sw"


def test_settings_are_written_where_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "kafka.properties"
    assert configure(path, {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:9092", "PATH": "/bin"}) == 0
    said = path.read_text().splitlines()
    assert said == [
        "advertised.listeners=PLAINTEXT://kafka:9092",
        "listeners=PLAINTEXT://0.0.0.0:9092",
        "log.dirs=/var/lib/pykbroker/data",
    ]


def test_what_does_not_go_together_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert configure(tmp_path / "no", {"KAFKA_ADVERTISED_LISTENERS": "SSL://kafka:9092"}) == 2
    assert capsys.readouterr().err.startswith("pykbroker: KAFKA_SSL_KEYSTORE_FILENAME environment variable not set")
    (tmp_path / "file").write_text("")
    assert configure(tmp_path / "file" / "no", {"KAFKA_NODE_ID": "1"}) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_directories_are_formatted_for_the_cluster_that_is_named(tmp_path: Path) -> None:
    config = BrokerConfig({"log.dirs": str(tmp_path / "data")})
    prepare(config, {})
    assert not formatted(str(tmp_path / "data"))
    prepare(config, {"CLUSTER_ID": ID})
    assert formatted(str(tmp_path / "data"))
    prepare(config, {"CLUSTER_ID": "test-cluster"})  # as in Apache Kafka's image, its own stays


@pytest.mark.parametrize(
    ("content", "overrides", "said"),
    [
        ("num.partitions=none", [], "num.partitions"),
        ("log.dirs=LOGS", ["num.partitions"], "is not NAME=VALUE"),
        ("log.dirs=LOGS", ["num.partitions=0"], "num.partitions"),
    ],
)
def test_bad_settings_do_not_start(
    content: str, overrides: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "server.properties"
    path.write_text(content.replace("LOGS", str(tmp_path / "data")))
    assert launch(path, overrides) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_a_mounted_file_of_others_does_nothing_to_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "server.properties"
    path.write_text(f"log.dirs={tmp_path}\nnum.partitions=a\x1b[2J\x9bb\n", encoding="latin-1")
    assert launch(path, []) == 2
    assert "a\\x1b[2J\\x9bb" in capsys.readouterr().err


def test_words_are_variables(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve"]) == 2
    assert "'serve' is not NAME=VALUE" in capsys.readouterr().err


def test_what_has_no_effect_is_said_and_does_not_prevent_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert configure(tmp_path / "kafka.properties", {"KAFKA_CFG_NODE_ID": "1"}) == 0
    assert capsys.readouterr().err.startswith("pykbroker: KAFKA_CFG_NODE_ID is a variable of another image")


def test_an_error_says_which_variable_it_is_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_LOG_RETENTION_MS", "")
    path = tmp_path / "server.properties"
    assert configure(path, {"KAFKA_LOG_RETENTION_MS": "", "KAFKA_LOG_DIRS": str(tmp_path / "data")}) == 0
    assert launch(path) == 2
    assert "(KAFKA_LOG_RETENTION_MS)" in capsys.readouterr().err


def test_a_log_directory_that_cannot_be_made_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTER_ID", ID)
    (tmp_path / "file").write_text("")
    path = tmp_path / "server.properties"
    path.write_text(f"log.dirs={tmp_path / 'file' / 'data'}\n")
    assert launch(path) == 2
    said = capsys.readouterr().err
    assert f"pykbroker: {tmp_path / 'file'}" in said
    assert "cannot be used: " in said
