"""What lies in a log directory from former days: checkpoints of topics that are gone, and messages of the formats 0 and 1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from struct import pack
from zlib import crc32

from compat_tests.directories.client import Client
from compat_tests.directories.log_directories import SharedLogDirectories
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.records import Record, encode_batch

_NEVER = "3600000"
#: Checkpoints are written when a broker stops, and where one must be.
NO_ROUNDS = {
    "log.flush.offset.checkpoint.interval.ms": _NEVER,
    "log.flush.start.offset.checkpoint.interval.ms": _NEVER,
    "replica.high.watermark.checkpoint.interval.ms": _NEVER,
}
_EARLIEST, _LATEST = -2, -1
_UNSUPPORTED_FOR_MESSAGE_FORMAT = 43


@contextmanager
def serving(directories: SharedLogDirectories, who: str, way: str = "stop") -> Iterator[Client]:
    directories.start(who)
    with closing(Client(directories.bootstrap)) as client:
        client.served()
        yield client
    directories.end(way)


def fill(client: Client, topic: str, count: int) -> None:
    client.produce(topic, encode_batch([Record(timestamp=1, value=b"%d" % number) for number in range(count)]))


def bounds(client: Client, topic: str) -> list[int]:
    """Log start offset and log end offset."""
    found = []
    for which in (_EARLIEST, _LATEST):
        requested = ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, which)])
        found.append(client.ask(ListOffsetsRequest(-1, 0, [requested]), 7).topics[0].partitions[0].offset)
    return found


def test_a_topic_made_again_by_one_is_whole_for_the_other(tmp_path):
    """Each deletes a topic whose start is in the checkpoint, makes it again, fills it, and is killed before any other round."""
    directories = SharedLogDirectories(tmp_path, settings=NO_ROUNDS)
    try:
        for one, other in (("ours", "kafka"), ("kafka", "ours")):
            topic = f"again-{one}"
            with serving(directories, "ours") as client:
                client.create(topic, retention_ms="-1")
                fill(client, topic, 1000)
                client.delete_records(topic, 900)
            assert directories.checkpoint("log-start-offset-checkpoint")[f"{topic}-0"] == 900
            with serving(directories, one, "kill") as client:
                client.delete(topic)
                client.create(topic, retention_ms="-1")
                fill(client, topic, 300)
            for who in (other, one):
                with serving(directories, who) as client:
                    assert bounds(client, topic) == [0, 300], who
    finally:
        directories.end("kill")


def message(offset: int, magic: int) -> bytes:
    timestamp = pack(">q", 1000 + offset) if magic else b""
    covered = pack(">bb", magic, 0) + timestamp + pack(">iii", -1, 4, offset)
    return pack(">qiI", offset, len(covered) + 4, crc32(covered)) + covered


def fetch(client: Client, topic: str):
    """What a fetch from the beginning is answered with."""
    part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100_000)
    requested = FetchRequest(max_bytes=100_000, session_epoch=-1, topics=[FetchTopic(topic, partitions=[part])])
    return client.ask(requested, 11).responses[0].partitions[0]


def test_messages_of_old_formats(tmp_path):
    """Apache Kafka sends them as they are. We refuse, say why, and change nothing, so that Apache Kafka still can."""
    directories = SharedLogDirectories(tmp_path)
    topics = {f"magic-{magic}": b"".join(message(offset, magic) for offset in range(20)) for magic in (0, 1)}

    def sent(client: Client) -> dict[str, bytes]:
        return {topic: bytes(fetch(client, topic).records) for topic in topics}

    try:
        with serving(directories, "kafka") as client:
            for topic in topics:
                client.create(topic, retention_ms="-1")
                fill(client, topic, 20)
        logs = {topic: directories.partition(f"{topic}-0") / f"{0:020d}.log" for topic in topics}
        for topic, log in logs.items():
            log.write_bytes(topics[topic])
            for index in (*log.parent.glob("*.index"), *log.parent.glob("*.timeindex"), *log.parent.glob("*.snapshot")):
                index.unlink()
        with serving(directories, "kafka") as client:
            assert sent(client) == topics
        for way in ("stop", "kill", "kill"):  # so the next start is after a clean shutdown, after a kill
            directories.start("ours")
            with closing(Client(directories.bootstrap)) as client:
                codes = {fetch(client, topic).error_code for topic in topics}
                assert codes == {_UNSUPPORTED_FOR_MESSAGE_FORMAT}
            directories.end(way)
            assert {topic: log.read_bytes() for topic, log in logs.items()} == topics
        for magic in (0, 1):
            assert f"holds messages of format {magic}" in directories.log_of("ours")
        with serving(directories, "kafka", "kill") as client:
            assert sent(client) == topics
    finally:
        directories.end("kill")
