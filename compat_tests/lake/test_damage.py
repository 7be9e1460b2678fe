"""Damaged, missing and moved files of a lake: the file is named, and no row is lost, doubled or changed silently."""

from __future__ import annotations

import random
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark import SparkContext
from pyspark.sql import SparkSession

from compat_tests.lake.workshop import Workshop
from compat_tests.spark.topics import Topics
from pykbroker.cli.lake_options import lake_errors
from pykbroker.client.errors import ClientError
from pykbroker.lake.description import Format
from pykbroker.lake.errors import LakeError
from pykbroker.lake.replay import Replay, ReplayOptions
from pykbroker.lake.spark_log import LOG, files_noted
from pykbroker.lake.tables.table import Compacted

BIG = 1 << 27


def replay(workshop: Workshop, topic: str, **options: bool) -> int:
    wanted = ReplayOptions(f"{topic}-again", prefix="again-", **options)
    return sum(Replay(workshop.lake, workshop.cluster.bootstrap, {}, wanted).run().values())


def send_noise(topics: Topics, topic: str, records: int, size: int = 1000) -> None:
    producer = Producer({"bootstrap.servers": topics.bootstrap})
    for _ in range(records):
        producer.produce(topic, random.randbytes(size), partition=0)
    assert producer.flush(30) == 0


def oldest(workshop: Workshop) -> Path:
    """The table's first data file."""
    return min(workshop.path.glob("records/**/*.parquet"), key=lambda file: file.stat().st_mtime_ns)


def without_checksum(file: Path) -> Path:
    """The file, without the checksums that Hadoop keeps beside it: as on a disk that it was copied to, or in an object store."""
    file.with_name(f".{file.name}.crc").unlink()
    return file


@pytest.fixture
def spark_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of the session of these tests."""
    return max(tmp_path_factory.getbasetemp().glob(f"spark*/{LOG}"), key=lambda file: file.stat().st_mtime)


@pytest.fixture
def archived(make: Callable[..., Workshop], topics: Topics, reader_form: Format) -> tuple[Workshop, str]:
    """Three batches."""
    topic = topics.create()
    workshop = make(reader_form)
    for _ in range(3):
        send_noise(topics, topic, 20)
        workshop.archive(topic)
    return workshop, topic


def test_a_changed_byte_is_found_and_its_file_named(
    archived: tuple[Workshop, str], topics: Topics, spark_log: Path
) -> None:
    """In the middle of a value, where only the checksum of the page tells."""
    workshop, topic = archived
    file = without_checksum(oldest(workshop))
    sound = file.read_bytes()
    damaged = bytearray(sound)
    damaged[len(sound) // 2] ^= 1
    file.write_bytes(damaged)
    send_noise(topics, topic, 5)
    assert workshop.archive(topic).rows == 5
    for job in (workshop.verify, lambda: replay(workshop, topic), lambda: workshop.lake.table.compact(BIG)):
        with (
            pytest.raises(ClientError, match=rf"{file.name}: .*page integrity.* put back a copy of it"),
            lake_errors(),
            files_noted(spark_log),
        ):
            job()
    file.write_bytes(sound)
    assert workshop.lake.table.compact(BIG).after == 1
    assert workshop.verify().is_equal
    assert replay(workshop, topic) == 65


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_plain_file_that_is_gone_or_empty_is_missed(
    make: Callable[..., Workshop], topics: Topics, is_gone: bool
) -> None:
    """Spark reads the other files as if it had never been there."""
    topic = topics.create()
    workshop = make()
    for _ in range(3):
        topics.send(topic, range(10))
        workshop.archive(topic)
    file = without_checksum(oldest(workshop))
    sound = file.read_bytes()
    if is_gone:
        file.unlink()
    else:
        file.write_bytes(b"")
        with pytest.raises(LakeError, match=rf"{file.name} is empty: it is damaged"):
            workshop.lake.table.compact(BIG)
    shortage = rf"{topic}-0: the ledger counted 30 rows, and the lake has 20"
    with pytest.raises(LakeError, match=shortage):
        replay(workshop, topic)
    assert f"again-{topic}" not in topics.names()
    assert workshop.verify().shortages == [shortage]
    file.write_bytes(sound)
    assert workshop.verify().is_equal
    assert replay(workshop, topic) == 30
    file.unlink()
    assert replay(workshop, f"{topic}-short", incomplete=True) == 20


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Java can write files of this many bytes only: a disk that is full."""
    java = SparkContext._gateway.proc.pid
    before = resource.prlimit(java, resource.RLIMIT_FSIZE)
    resource.prlimit(java, resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.prlimit(java, resource.RLIMIT_FSIZE, before)


def test_nothing_is_lost_where_the_disk_was_full(
    make: Callable[..., Workshop], topics: Topics, form: Format, spark_log: Path
) -> None:
    topic = topics.create()
    workshop = make(form)
    for _ in range(2):
        send_noise(topics, topic, 10)
        workshop.archive(topic)
    send_noise(topics, topic, 20, 200_000)
    limit = spark_log.stat().st_size + 1_000_000
    for _ in range(2):
        with (
            files_up_to(limit),
            pytest.raises(LakeError, match=r"after batch 1: File too large\. Make room on the lake's disk"),
        ):
            workshop.archive(topic)
        assert workshop.verify().is_equal
    assert workshop.archive(topic).rows == 20
    send_noise(topics, topic, 1)
    workshop.archive(topic)
    with (
        files_up_to(limit),
        pytest.raises(ClientError, match=r"File too large\. Make room on the lake's disk"),
        lake_errors(),
    ):
        workshop.lake.table.compact(BIG)
    assert workshop.verify().is_equal
    assert workshop.lake.table.compact(BIG).after == 1
    assert workshop.verify().is_equal
    assert workshop.offsets(topic) == [(0, offset) for offset in range(41)]


def test_a_lake_is_moved_and_copied(
    spark: SparkSession, make: Callable[..., Workshop], topics: Topics, form: Format, tmp_path: Path
) -> None:
    """Each goes on by itself. One of Iceberg is refused: it would read and write the files of the original."""
    topic = topics.create()
    workshop = make(form)
    for _ in range(2):
        topics.send(topic, range(5))
        workshop.archive(topic)
    copied, moved = (tmp_path / name for name in ("copied", "moved"))
    shutil.copytree(workshop.path, copied)
    topics.send(topic, range(3))
    copy = Workshop(spark, topics.bootstrap, copied, form)
    if form is Format.ICEBERG:
        for job in (lambda: copy.archive(topic), lambda: copy.lake.table.compact(BIG), copy.verify):
            with pytest.raises(LakeError, match=r"/copied began in .*/lake/records, .* cannot be moved or copied"):
                job()
    else:
        assert copy.archive(topic).rows == 3
        assert copy.lake.table.compact(BIG).after == 1
        assert copy.verify().is_equal
    assert len(workshop.offsets(topic)) == 10
    workshop.path.rename(moved)
    if form is Format.ICEBERG:
        workshop.path.symlink_to(moved)
    here = Workshop(spark, topics.bootstrap, moved, form)
    assert here.archive(topic).rows == 3
    assert here.verify().is_equal
    assert here.lake.table.compact(BIG) != Compacted(0, 0)
    assert here.offsets(topic) == [(0, offset) for offset in range(13)]
