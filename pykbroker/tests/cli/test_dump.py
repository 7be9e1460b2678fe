"""``dump`` on files made here; on those of Apache Kafka: compat_tests/cli."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import crc32c
import pytest

from pykbroker.client.internal_records import plain
from pykbroker.tests.cli.conftest import Result
from pykbroker.wire.batch_header import TimestampType, patch_timestamps
from pykbroker.wire.control_records import EndTxnMarker, encode_end_txn_batch
from pykbroker.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from pykbroker.wire.internal.coordinator import encode_coordinator_key, encode_coordinator_value, encode_versioned
from pykbroker.wire.internal.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from pykbroker.wire.internal.metadata import encode_metadata_record
from pykbroker.wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue
from pykbroker.wire.internal.partition_record import PartitionRecord
from pykbroker.wire.internal.topic_record import TopicRecord
from pykbroker.wire.records import Compression, Record, encode_batch

Run = Callable[..., Result]
TIME = 1_769_868_000_000  # 2026-01-31T14:00:00Z


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A segment from offset 100 on with three batches and right indexes."""
    folder = tmp_path / "orders-3"
    folder.mkdir()
    parts = [
        encode_batch(
            [Record(timestamp=TIME, key=b"k", value=b"one"), Record(timestamp=TIME + 5, value=b"t\x1bwo")],
            base_offset=100,
            compression=Compression.GZIP,
            producer_id=7,
            producer_epoch=1,
            base_sequence=0,
            leader_epoch=4,
        ),
        encode_batch([Record(timestamp=TIME + 9, headers=(("h", b"x"),))], base_offset=105),
        encode_end_txn_batch(
            EndTxnMarker(True, 2), producer_id=7, producer_epoch=1, timestamp=TIME + 9, base_offset=106
        ),
    ]
    second = len(parts[0])
    (folder / "00000000000000000100.log").write_bytes(b"".join(parts))
    (folder / "00000000000000000100.index").write_bytes(struct.pack(">ii", 5, second) + bytes(800))
    (folder / "00000000000000000100.timeindex").write_bytes(struct.pack(">qiqi", TIME + 5, 1, TIME + 9, 5) + bytes(12))
    return folder / "00000000000000000100.log"


def test_batches(run: Run, segment: Path) -> None:
    first, second, third = run("dump", str(segment)).out.splitlines()
    assert first.startswith("offsets 100-101, position 0, ")
    assert "2 records, gzip, up to 2026-01-31T14:00:00.005Z, leader epoch 4, producer 7 epoch 1 sequence 0" in first
    assert second.startswith("offsets 105-105, ")
    assert third.endswith("producer 7 epoch 1 sequence -1, transactional, control")


def test_records(run: Run, segment: Path) -> None:
    lines = run("dump", "--records", str(segment)).out.splitlines()
    assert lines[1] == "  100  2026-01-31T14:00:00.000Z  k: one"
    assert lines[2] == "  101  2026-01-31T14:00:00.005Z  null: t\\x1bwo"
    assert lines[4] == "  105  2026-01-31T14:00:00.009Z  null: null  headers h=x"
    assert lines[6] == "  106  2026-01-31T14:00:00.009Z  COMMIT coordinator_epoch=2"


def test_records_from_an_offset_on(run: Run, segment: Path) -> None:
    lines = run("dump", "-r", "--from", "101", str(segment)).out.splitlines()
    assert lines[1].startswith("  101 ")
    assert len(lines) == 6


def test_json(run: Run, segment: Path) -> None:
    first, *_, last = map(json.loads, run("dump", "-r", "--json", str(segment)).out.splitlines())
    assert first["file"] == str(segment)
    assert first["batch"]["base_offset"] == 100
    assert first["batch"]["crc_ok"] is True
    assert first["records"][0] == {
        "topic": "orders",
        "partition": 3,
        "offset": 100,
        "timestamp": TIME,
        "key": "k",
        "value": "one",
        "headers": [],
    }
    assert last["records"][0]["type"] == "COMMIT"


def test_indexes(run: Run, segment: Path) -> None:
    position = json.loads(run("dump", "--json", str(segment)).out.splitlines()[1])["batch"]["position"]
    assert run("dump", str(segment.with_suffix(".index"))).out == f"OFFSET\tPOSITION\n105\t{position}\n"
    assert run("dump", str(segment.with_suffix(".timeindex"))).out.splitlines()[1:] == [
        f"{TIME + 5}\t101",
        f"{TIME + 9}\t105",
    ]


def test_transaction_index(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.txnindex"
    path.write_bytes(struct.pack(">hqqqq", 0, 7, 10, 20, 25))
    (row,) = map(json.loads, run("dump", "--json", str(path)).out.splitlines())
    assert (row["producer_id"], row["first_offset"], row["last_offset"], row["last_stable_offset"]) == (7, 10, 20, 25)


def test_producer_snapshot(run: Run, tmp_path: Path) -> None:
    body = struct.pack(">iqhiqiqiq", 1, 7, 1, 41, 99, 3, TIME, -1, 90)
    path = tmp_path / "00000000000000000100.snapshot"
    path.write_bytes(struct.pack(">hI", 1, crc32c.crc32c(body)) + body)
    (row,) = map(json.loads, run("dump", "--json", str(path)).out.splitlines())
    assert (row["producer_id"], row["last_sequence"], row["last_offset"]) == (7, 41, 99)
    assert row["current_txn_first_offset"] == 90
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    result = run("dump", str(path))
    assert result.status == 1
    assert "CRC of the producer snapshot is wrong" in result.err


@pytest.mark.parametrize(
    ("name", "content", "printed"),
    [
        ("leader-epoch-checkpoint", "0\n2\n0 0\n3 57\n", ["EPOCH\tSTART OFFSET", "0\t0", "3\t57"]),
        ("recovery-point-offset-checkpoint", "0\n1\norders 3 106\n", ["TOPIC\tPARTITION\tOFFSET", "orders\t3\t106"]),
        ("cleaner-offset-checkpoint", "", ["(empty)"]),
        ("partition.metadata", "version: 0\ntopic_id: AbC\n", ["NAME\tVALUE", "version\t0", "topic_id\tAbC"]),
        ("meta.properties", "#\n#Sat\nversion=1\nnode.id=1\n", ["NAME\tVALUE", "version\t1", "node.id\t1"]),
        ("quorum-state", '{"leaderId": 1}', ["NAME\tVALUE", "leaderId\t1"]),
    ],
)
def test_text_files(run: Run, tmp_path: Path, name: str, content: str, printed: list[str]) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert run("dump", str(path)).out.splitlines() == printed


@pytest.mark.parametrize("content", ["0", "0\n2\na 0 1\n", "1\n0\n", "0\n1\na 0\n", "x\n0\n"])
def test_damaged_checkpoints(run: Run, tmp_path: Path, content: str) -> None:
    path = tmp_path / "recovery-point-offset-checkpoint"
    path.write_text(content)
    assert run("dump", str(path)).status == 1


def test_a_folder_is_all_its_known_files(run: Run, segment: Path) -> None:
    (segment.parent / "notes.txt").write_text("no file of Kafka's")
    printed = run("dump", str(segment.parent.parent)).out
    for suffix in (".log", ".index", ".timeindex"):
        assert str(segment.with_suffix(suffix)) in printed
    assert "notes" not in printed


def test_an_unknown_name(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.touch()
    result = run("dump", str(path))
    assert result.status == 2
    assert "must end with one of .log" in result.err


def test_a_folder_without_any(run: Run, tmp_path: Path) -> None:
    assert run("dump", str(tmp_path)).status == 2


# Kafka's own records


def test_group_records(run: Run, tmp_path: Path) -> None:
    subscription = encode_versioned(ConsumerProtocolSubscription(topics=["orders"]), 1)
    member = MemberMetadata(member_id="m", client_id="c", subscription=subscription, assignment=b"\xff\xfe")
    group = GroupMetadataValue(protocol_type="consumer", generation=3, members=[member])
    records = [
        Record(
            timestamp=TIME,
            key=encode_coordinator_key(OffsetCommitKey("g", "orders", 0)),
            value=encode_coordinator_value(OffsetCommitValue(offset=5, metadata="note"), 3),
        ),
        Record(timestamp=TIME, key=encode_coordinator_key(OffsetCommitKey("g", "orders", 1))),
        Record(
            timestamp=TIME, key=encode_coordinator_key(GroupMetadataKey("g")), value=encode_coordinator_value(group, 3)
        ),
        Record(timestamp=TIME, key=b"\x7f\xff", value=b"of a later release"),
    ]
    path = tmp_path / "__consumer_offsets-7" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(encode_batch(records))
    text = run("dump", "-r", str(path)).out.splitlines()
    assert "OffsetCommit group='g' topic='orders' partition=0: offset=5 " in text[1]
    assert text[2].endswith("OffsetCommit group='g' topic='orders' partition=1: deleted")
    assert "(unreadable: no coordinator record has type 32767)" in text[4]
    shown = json.loads(run("dump", "-r", "--json", str(path)).out)["records"]
    assert shown[0]["value"]["metadata"] == "note"
    assert shown[2]["value"]["members"][0]["subscription"]["topics"] == ["orders"]
    assert shown[2]["value"]["members"][0]["assignment"] == "//4="
    assert shown[3]["unreadable"]


def test_metadata_records(run: Run, tmp_path: Path) -> None:
    topic_id = bytes(range(16))
    records = [
        Record(timestamp=TIME, value=encode_metadata_record(TopicRecord(name="orders", topic_id=topic_id), 0)),
        Record(
            timestamp=TIME, value=encode_metadata_record(PartitionRecord(topic_id=topic_id, directories=[topic_id]), 1)
        ),
    ]
    path = tmp_path / "__cluster_metadata-0" / "00000000000000000000-0000000000.checkpoint"
    path.parent.mkdir()
    path.write_bytes(encode_batch(records))
    assert "TopicRecord name='orders' topic_id='AAECAwQFBgcICQoLDA0ODw'" in run("dump", "-r", str(path)).out
    shown = json.loads(run("dump", "-r", "--json", str(path)).out)["records"]
    assert shown[1]["value"]["directories"] == ["AAECAwQFBgcICQoLDA0ODw"]


def test_bytes_of_messages_become_text_or_base64() -> None:
    assert plain(MemberMetadata(subscription=b"text"))["subscription"] == "text"
    assert plain(MemberMetadata(subscription=b"\0\1"))["subscription"] == "AAE="


# Faults


def test_nothing_to_find(run: Run, segment: Path) -> None:
    result = run("dump", "--verify", str(segment.parent))
    assert (result.status, result.out) == (0, "3 files, 0 faults\n")


def _change(path: Path, at: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)


def test_faults_are_all_told(run: Run, segment: Path) -> None:
    _change(segment, 70, b"\xff\xff")
    _change(segment.with_suffix(".index"), 0, struct.pack(">iiii", 5, 12, 4, 13))
    _change(segment.with_suffix(".timeindex"), 0, struct.pack(">qiqi", TIME, 1, TIME - 1, 90))
    result = run("dump", "--verify", str(segment.parent))
    assert result.status == 1
    told = "\n".join(line.rpartition("/")[2] for line in result.out.splitlines())
    name = segment.stem
    assert f"{name}.log: the batch at position 0 has a wrong CRC" in told
    assert f"{name}.index: no batch with offset 105 begins at position 12" in told
    assert f"{name}.index: entry {{'offset': 104, 'position': 13}} does not come after" in told
    assert f"{name}.timeindex: the batch with offset 101 has max timestamp {TIME + 5}, not {TIME}" in told
    assert f"{name}.timeindex: offset 190 is not in the log" in told
    assert "error: 7 faults found." in result.err


def test_a_torn_tail(run: Run, segment: Path) -> None:
    whole = segment.read_bytes()
    for cut in (1, 30, 77):
        segment.write_bytes(whole[:-cut])
        result = run("dump", "--verify", "--json", str(segment))
        assert result.status == 1
        assert len(json.loads(result.out)["faults"]) == 1
    result = run("dump", str(segment))
    assert result.status == 1
    assert len(result.out.splitlines()) == 2, "what comes before is printed"


def test_batches_that_overlap(run: Run, segment: Path) -> None:
    segment.write_bytes(segment.read_bytes() + encode_batch([Record(timestamp=TIME)], base_offset=106))
    result = run("dump", "--verify", str(segment))
    assert "begins at offset 106, where 107 or more must follow" in result.out


def test_a_record_later_than_its_batch_says(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    batch = bytearray(encode_batch([Record(timestamp=TIME + 50)]))
    patch_timestamps(batch, 0, len(batch), TimestampType.CREATE_TIME, TIME)
    path.write_bytes(batch)
    assert "has a record later than its max timestamp" in run("dump", "--verify", str(path)).out


def test_empty_files_are_fine(run: Run, tmp_path: Path) -> None:
    for suffix in ("log", "index", "timeindex"):
        (tmp_path / f"00000000000000000000.{suffix}").touch()
    assert run("dump", "--verify", str(tmp_path)).out == "3 files, 0 faults\n"
    assert run("dump", str(tmp_path)).status == 0
