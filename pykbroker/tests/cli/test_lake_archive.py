"""What ``lake archive``, ``compact`` and ``status`` say before Spark is started."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pykbroker.lake.description import FILE, Description, Format
from pykbroker.lake.ledger import LakePartition, LedgerEntry, PartitionProgress
from pykbroker.lake.single_job import only_job
from pykbroker.lake.values.decode_options import DecodeOptions, ValueFormat
from pykbroker.lake.values.decode_progress import DecodeAccount, Done
from pykbroker.testing import Kafka
from pykbroker.tests.cli.conftest import Result


@pytest.mark.parametrize("command", ["archive", "compact"])
def test_two_at_once(run: Callable[..., Result], tmp_path: Path, command: str) -> None:
    (tmp_path / FILE).write_text(Description(Format.PARQUET, "cluster").to_json())
    with Kafka() as kafka, only_job(str(tmp_path), command):
        options = ["--topics", "t", "--to", str(tmp_path), "-b", kafka.bootstrap_servers]
        result = run("lake", command, *(options if command == "archive" else [str(tmp_path)]))
    assert result.status == 1
    assert f"({command}); wait until it has ended, or stop it." in " ".join(result.err.split())


def test_the_status_of_a_lake_on_this_machine_needs_no_java(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / FILE).write_text(Description(Format.ICEBERG, "cluster").to_json())
    (tmp_path / "ledger").mkdir()
    entry = LedgerEntry(0, "2026-01-31T00:00:00.000Z", 5, {LakePartition("t", 0): PartitionProgress(3, 9, 5)})
    (tmp_path / "ledger" / f"{0:012d}.json").write_text(entry.to_json())
    decoded = tmp_path / "decoded" / "t"
    (decoded / "ledger").mkdir(parents=True)
    (decoded / "how.json").write_text(DecodeOptions(ValueFormat.TEXT).to_json())
    account = DecodeAccount(0, "", {"value": "STRING"}, {0: Done(3, 7, 2, 1)})
    (decoded / "ledger" / f"{0:012d}.json").write_text(account.to_json())
    result = run("lake", "status", f"file://{tmp_path}", "--json")
    assert (result.status, result.err) == (0, "")
    (tmp_path / "records" / "metadata").mkdir(parents=True)
    (tmp_path / "records" / "a.parquet").write_bytes(bytes(70))
    (tmp_path / "records" / "metadata" / "v1.parquet").write_bytes(bytes(3))
    (tmp_path / "records" / ".hidden.parquet").write_bytes(bytes(70))
    answer = json.loads(result.out)
    assert answer.pop("disk").keys() == {"files", "bytes", "metadata_files", "metadata_bytes"}
    again = json.loads(run("lake", "status", str(tmp_path), "--json").out)["disk"]
    assert (again["files"], again["bytes"], again["metadata_files"]) == (1, 70, 5)
    assert answer == {
        "batch": 0, "at": "2026-01-31T00:00:00.000Z", "rows": 5,
        "partitions": [{"topic": "t", "partition": 0, "begin": 3, "until": 9, "rows": 5, "lost": 0}],
        "decoded": [{"topic": "t", "as": "text", "rows": 2, "quarantined": 1, "behind": 2, "columns": ["value"]}],
    }  # fmt: skip


def test_a_lake_of_another_format_is_refused_before_spark_starts(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / FILE).write_text(Description(Format.ICEBERG, "cluster").to_json())
    result = run("lake", "archive", "--topics", "t", "--to", str(tmp_path), "--format", "delta")
    assert result.status == 1
    assert "is of format iceberg; it cannot be delta as well." in " ".join(result.err.split())


def test_replays_say_whose_settings_kafka_takes(run: Callable[..., Result]) -> None:
    said = [" ".join(run("lake", command, "--help").out.split()) for command in ("replay", "archive")]
    assert "A setting of librdkafka" in said[0]
    assert "A setting of Spark's Kafka client" in said[1]


def test_with_a_broker_the_status_says_what_is_not_archived_yet(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(Description(Format.PARQUET, "cluster").to_json())
    (tmp_path / "ledger").mkdir()
    entry = LedgerEntry(
        0,
        "",
        5,
        {LakePartition("t", 0): PartitionProgress(0, 2, 2), LakePartition("gone", 0): PartitionProgress(0, 3, 3)},
    )
    (tmp_path / "ledger" / f"{0:012d}.json").write_text(entry.to_json())
    with Kafka() as kafka:
        kafka.create_topic("t")
        for _ in range(5):
            kafka.produce("t", b"x")
        result = run("lake", "status", str(tmp_path), "--json", "-b", kafka.bootstrap_servers)
    behind = {row["topic"]: row["behind"] for row in json.loads(result.out)["partitions"]}
    assert behind == {"t": 3, "gone": None}
