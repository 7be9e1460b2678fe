"""What a cluster has that has run for long: a metadata log that begins with a snapshot, and replicas that were idle for longer than they may lag."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from compat_tests.conftest import takes_long
from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.java import QUICK
from compat_tests.harness.process import ServerProcess
from compat_tests.quorum.member import Member, consume, create, log_of, produce, state
from pykbroker.tests.kit.running import until_in_thread

LAG_MS = 2000
_SHORT_LOG = {
    "metadata.log.max.record.bytes.between.snapshots": "1000",
    "internal.metadata.log.segment.bytes": "16384",
    "metadata.max.retention.bytes": "1000",
    "metadata.max.retention.ms": "1000",
    "metadata.max.idle.interval.ms": "10",
}


def begins_at(folder: Path) -> int:
    """The offset at which a node's metadata log begins."""
    return min(int(each.stem) for each in (folder / "__cluster_metadata-0").glob("*.log"))


def size(folder: Path) -> int:
    """Bytes of a node's metadata log."""
    return sum(each.stat().st_size for each in (folder / "__cluster_metadata-0").glob("*.log"))


def snapshots(folder: Path) -> list[Path]:
    return [each for each in (folder / "__cluster_metadata-0").glob("*.checkpoint") if int(each.name.split("-")[0])]


@takes_long
def test_a_broker_that_begins_with_a_snapshot(start: Callable[[ServerProcess], None], tmp_path: Path) -> None:
    """One whose log ends before that of the controllers begins, which is cut once a minute, and a new one."""
    java = ApacheKafka(tmp_path / "java", _SHORT_LOG, standalone=True, flags=[*QUICK, "-Xmx300m"])
    start(java)
    ours, new = (Member(tmp_path / f"ours{node}", java, node) for node in (4, 5))
    start(ours)
    topic = create(ours.bootstrap, [4, 1])
    until_in_thread(lambda: state(java.bootstrap, topic) == (4, {1, 4}))
    produce(ours.bootstrap, topic, [b"before"])
    ours.kill()
    until_in_thread(lambda: len(snapshots(java.data_dir)) > 10)
    until_in_thread(lambda: begins_at(java.data_dir) > 1000)
    for each in (ours, new):
        start(each)
        assert snapshots(each.data_dir)
        assert begins_at(each.data_dir) > 1000
        until_in_thread(lambda: state(java.bootstrap, topic)[1] == {1, 4})
        produce(each.bootstrap, topic, [b"after"])
    assert consume(new.bootstrap, topic, 3) == [b"before", b"after", b"after"]
    produce(ours.bootstrap, create(ours.bootstrap, [5, 4]), [b"led by the new one"])


@takes_long
def test_idle_for_longer_than_a_replica_may_lag(start: Callable[[ServerProcess], None], tmp_path: Path) -> None:
    """In both directions the followers stay in sync, and the next record is acknowledged by all."""
    lag = {"replica.lag.time.max.ms": str(LAG_MS), "replica.fetch.wait.max.ms": "500"}
    java = ApacheKafka(tmp_path / "java", lag, standalone=True, flags=[*QUICK, "-Xmx300m"])
    start(java)
    ours = Member(tmp_path / "ours", java, 4, lag)
    start(ours)
    topics = [create(java.bootstrap, replicas, min_insync_replicas="2") for replicas in ([1, 4], [4, 1])]
    for topic in topics:
        until_in_thread(lambda topic=topic: state(java.bootstrap, topic)[1] == {1, 4})
        produce(java.bootstrap, topic, [b"before"])
    altered = "In-sync replicas of"
    count = ours.log_file.read_text().count(altered)
    end = size(ours.data_dir) + 40 * 80  # the controllers append something twice a second, which ours copies
    until_in_thread(lambda: size(ours.data_dir) > end)
    for topic in topics:
        produce(java.bootstrap, topic, [b"after"])
        assert state(ours.bootstrap, topic)[1] == {1, 4}
        until_in_thread(lambda topic=topic: log_of(java, topic) == log_of(ours, topic))
    assert ours.log_file.read_text().count(altered) == count
