"""Damaged and missing files of decoded tables, and a disk that is full while values are decoded."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.lake.test_damage import BIG, files_up_to, without_checksum
from compat_tests.lake.test_decode import decode, quarantined, values
from compat_tests.lake.workshop import Workshop
from compat_tests.spark.topics import Topics
from pykbroker.cli.lake_options import lake_errors
from pykbroker.client.errors import ClientError
from pykbroker.lake.description import Format
from pykbroker.lake.errors import LakeError
from pykbroker.lake.spark_log import LOG, files_noted
from pykbroker.lake.values.decode import Decode
from pykbroker.lake.values.decode_options import DecodeOptions, ValueFormat
from pykbroker.lake.values.decoded_tables import DecodedTopic
from pykbroker.lake.values.rebuild import begin_rebuild, end_rebuild
from pykbroker.lake.values.schema_survey import Surveyor

ANEW = r"`pykbroker lake decode LAKE --topics '{}' --anew` makes the tables of this topic anew from the archive"


@pytest.fixture
def spark_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of the session of these tests."""
    return max(tmp_path_factory.getbasetemp().glob(f"spark*/{LOG}"), key=lambda file: file.stat().st_mtime)


def test_damaged_files_are_named_and_their_tables_made_anew(
    make: Callable[..., Workshop], topics: Topics, long_form: Format, spark_log: Path
) -> None:
    topic = topics.create()
    workshop = make(long_form)
    for begin in (0, 100, 200):  # plain files of the last batch are not compacted
        topics.send(topic, [json.dumps({"n": begin + each, "of": random.randbytes(500).hex()}) for each in range(50)])
        topics.send(topic, ["no JSON"])
        workshop.archive(topic)
        decode(workshop, topic, DecodeOptions(ValueFormat.JSON) if begin == 0 else None)
    sound = values(workshop, topic), quarantined(workshop, topic), DecodedTopic(workshop.lake, topic).account().columns
    assert workshop.verify().is_equal
    folder = workshop.path / "decoded" / topic
    file = without_checksum(min(folder.glob("records/**/*.parquet"), key=lambda each: each.stat().st_mtime_ns))
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 1  # in the middle of a value
    file.write_bytes(damaged)
    table = DecodedTopic(workshop.lake, topic).tables[0]
    for job in (workshop.verify, lambda: table.compact(BIG)):
        with (
            pytest.raises(ClientError, match=rf"{file.name}: .*The file is damaged or gone: {ANEW.format(topic)}"),
            lake_errors(),
            files_noted(spark_log),
        ):
            job()
    for _ in range(2):  # the first is killed when it has just begun
        new = begin_rebuild(workshop.lake, topic)
    assert Decode(new, Surveyor()).run(lambda _: None).decoded == 150
    end_rebuild(workshop.lake, topic)
    new = DecodedTopic(workshop.lake, topic)
    assert (values(workshop, topic), quarantined(workshop, topic), new.account().columns) == sound
    assert workshop.verify().is_equal
    assert list((workshop.path / "decoded.old").iterdir()) == []
    topics.send(topic, ['{"n": 7}'])
    workshop.archive(topic)
    assert decode(workshop, topic).decoded == 1
    assert workshop.verify().is_equal


def test_a_plain_file_that_is_gone_is_missed_and_torn_accounts_are_made_anew(
    make: Callable[..., Workshop], topics: Topics
) -> None:
    topic = topics.create()
    workshop = make()
    for number in range(2):
        topics.send(topic, [json.dumps({"n": number})] * 10)
        workshop.archive(topic)
        decode(workshop, topic, DecodeOptions(ValueFormat.JSON))
    folder = workshop.path / "decoded" / topic
    without_checksum(min(folder.glob("records/**/*.parquet"))).unlink()
    assert workshop.verify().shortages == [
        f"{topic}-0: 20 rows were decoded, and the table in {DecodedTopic(workshop.lake, topic).folder.uri} has 10: "
        + ANEW.format(topic)
    ]
    without_checksum(folder / "ledger/000000000001.json").write_text("")
    with pytest.raises(LakeError, match=rf"000000000001\.json is not one .* damaged\. {ANEW.format(topic)}"):
        decode(workshop, topic)
    Decode(begin_rebuild(workshop.lake, topic), Surveyor()).run(lambda _: None)
    assert workshop.verify().is_equal
    assert [each["n"] for each in values(workshop, topic)] == [0] * 10 + [1] * 10
    with pytest.raises(LakeError, match="other was never decoded"):
        begin_rebuild(workshop.lake, "other")


def test_a_batch_that_has_begun_is_no_difference(
    make: Callable[..., Workshop], topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = topics.create()
    workshop = make()
    for number in range(2):
        topics.send(topic, [json.dumps({"n": number})] * 10)
        workshop.archive(topic)
        if number == 0:
            decode(workshop, topic, DecodeOptions(ValueFormat.JSON))
    with monkeypatch.context() as patched:
        patched.setattr(DecodedTopic, "keep_account", _killed)
        with pytest.raises(KeyboardInterrupt):
            decode(workshop, topic)
    assert len(values(workshop, topic)) == 20
    assert DecodedTopic(workshop.lake, topic).account().rows == 10
    assert workshop.verify().is_equal
    decode(workshop, topic)
    assert workshop.verify().is_equal


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_nothing_is_lost_where_the_disk_was_full(
    make: Callable[..., Workshop], topics: Topics, long_form: Format, spark_log: Path
) -> None:
    topic = topics.create()
    workshop = make(long_form)
    topics.send(topic, ["small"])
    workshop.archive(topic)
    decode(workshop, topic, DecodeOptions(ValueFormat.TEXT))
    topics.send_raw(topic, None, b"no text \xff")
    topics.send(topic, [random.randbytes(100_000).hex() for _ in range(20)])
    workshop.archive(topic)
    before = DecodedTopic(workshop.lake, topic).account()
    limit = spark_log.stat().st_size + 1_000_000
    for _ in range(2):
        with (
            files_up_to(limit),
            pytest.raises(ClientError, match=r"File too large\. Make room on the lake's disk"),
            lake_errors(),
        ):
            decode(workshop, topic)
        assert DecodedTopic(workshop.lake, topic).account() == before
    outcome = decode(workshop, topic)
    assert (outcome.decoded, outcome.quarantined) == (20, 1)
    assert len(values(workshop, topic)) == 21
    assert [offset for offset, *_ in quarantined(workshop, topic)] == [1]
    assert workshop.verify().is_equal
