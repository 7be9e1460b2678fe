"""The metadata log on disk: what a restart finds, however the last run ended."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.controller.feature_updates import FeatureUpdate
from pykbroker.controller.start import LostMetadataError, UnsupportedMetadataError
from pykbroker.controller.topics import NewPartitions, NewTopic
from pykbroker.metadata.batches import MAX_RECORDS_PER_BATCH, decode_batch, encode_controls, encode_records
from pykbroker.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from pykbroker.metadata.quorum import ForeignQuorumError, Quorum
from pykbroker.metadata.replay import ReplayError
from pykbroker.metadata.snapshot import decode_snapshot, encode_snapshot, list_snapshots
from pykbroker.storage.real_disk import RealDisk
from pykbroker.tests.kit.metadata import MetadataDirectory, alter, created, registration, snapshot
from pykbroker.wire.control_records import ControlRecordType
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.internal.abort_transaction_record import AbortTransactionRecord
from pykbroker.wire.internal.begin_transaction_record import BeginTransactionRecord
from pykbroker.wire.internal.end_transaction_record import EndTransactionRecord
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord
from pykbroker.wire.internal.kraft_version_record import KRaftVersionRecord
from pykbroker.wire.internal.leader_change_message import LeaderChangeMessage
from pykbroker.wire.internal.leader_change_message import Voter as LeaderVoter
from pykbroker.wire.internal.topic_record import TopicRecord
from pykbroker.wire.internal.voters_record import Voter, VotersRecord
from pykbroker.wire.primitives import uuid_from_str
from pykbroker.worlds.disk import SimulatedDisk


class Node(MetadataDirectory):
    """On a real disk: what is here is the files."""

    def __init__(self, path, node_id=1, disk=None):
        super().__init__(path, disk or RealDisk(durable=False), node_id=node_id)

    def restart(self, *, clean=False):
        if clean:
            self.close()
        self.open()

    @property
    def directory(self):
        return self.path / "__cluster_metadata-0"

    def state(self):
        """What must not change by a restart."""
        ephemeral = {"offset", "epoch"}
        return {name: value for name, value in vars(self.image).items() if name not in ephemeral}


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def start(node):
    node.controller.start_brokers([registration(1), registration(2)])


def test_a_new_directory_is_a_new_cluster(node):
    assert node.image.features == {
        "metadata.version": 33,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "share.version": 2,
        "streams.version": 1,
        "transaction.version": 2,
    }
    assert node.image.config(BROKER_RESOURCE, "") == {"min.insync.replicas": "1"}
    assert node.image.epoch == 1
    state = json.loads((node.directory / "quorum-state").read_text())
    assert state == {
        "clusterId": "",
        "leaderId": 1,
        "leaderEpoch": 1,
        "votedId": -1,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": 1}],
        "data_version": 0,
    }
    assert (node.path / "bootstrap.checkpoint").exists()


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_finds_everything_in_a_later_epoch(node, clean):
    start(node)
    node.controller.create_topics([NewTopic("t", 3, 2, configs={"retention.ms": "1"})])
    node.controller.allocate_producer_ids(2)
    if clean:
        node.controller.stop_brokers()
    before = node.state()
    node.restart(clean=clean)
    assert node.state() == before
    assert node.image.epoch == 2
    assert node.image.next_producer_id == 1000


def test_an_epoch_is_never_taken_twice_even_if_its_record_was_lost(node):
    Quorum(1).write_state(node.disk, str(node.directory), 7)
    node.restart()
    assert node.image.epoch == 8


def test_a_snapshot_replaces_the_log_before_it(node):
    start(node)
    node.controller.create_topics([NewTopic("t", 3, 2)])
    snapshot(node.controller._log, node.image)
    node.controller.create_topics([NewTopic("after")])
    before = node.state()
    node.restart()
    assert node.state() == before
    snapshot(node.controller._log, node.image)
    (latest,) = list_snapshots(node.disk, str(node.directory))
    assert latest.offset == node.image.offset + 1
    node.restart()
    assert node.state() == before


def test_snapshots_come_as_the_log_grows_and_keep_it_short(node):
    start(node)
    seen = set()
    for _ in range(60):
        (result,) = created(node.controller, NewTopic("t", 500, 1))
        node.controller.delete_topics([result.topic_id])
        seen |= set(list_snapshots(node.disk, str(node.directory)))
    assert len(seen) >= 2
    assert len(list_snapshots(node.disk, str(node.directory))) == 1
    before = node.state()
    node.restart()
    assert node.state() == before


@pytest.mark.deep
def test_many_leaders_are_several_batches_of_one_operation(node):
    start(node)
    for name in ("a", "b"):
        created(node.controller, NewTopic(name, 9_000, 1))
    node.controller.start_brokers([registration(1), registration(2)], clean=False)
    before = node.state()
    assert all(p.leader_epoch == 1 for p in node.image.topic("b").in_order())
    node.restart()
    assert node.state() == before


@pytest.fixture
def operations():
    """What is asked of a simulated disk, by name."""
    return []


@pytest.fixture
def simulated(operations):
    node = Node(Path("/data"), disk=SimulatedDisk())
    start(node)
    node.controller.create_topics([NewTopic("t")])
    node.disk.fail = lambda _, name: operations.append(name)
    return node


def test_what_was_appended_in_part_is_taken_back_by_the_thread_that_syncs(simulated, operations):
    """The loop does not wait for the disk: it only learns there that the records are not in the log."""
    log = simulated.controller.log
    first = log.end_offset

    def full(_, name):
        operations.append(name)
        is_second = name.startswith("write") and sum(each.startswith("write") for each in operations) == 2
        return OSError(errno.ENOSPC, "full") if is_second else None

    simulated.disk.fail = full
    assert log.append([TopicRecord(name="many")] * (MAX_RECORDS_PER_BATCH + 1)) == first
    assert not [name for name in operations if name.startswith("sync")]
    with pytest.raises(KafkaError) as refused:
        log.sync(first)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.end_offset == first
    log.sync(log.append([TopicRecord(name="one")]))
    assert log.end_offset == first + 1


def test_what_cannot_be_appended_at_all_is_refused_at_once(simulated, operations):
    simulated.disk.fail = lambda _, name: OSError(errno.ENOSPC, "full") if name.startswith("write") else None
    created = simulated.controller.create_topics([NewTopic("u")])
    with pytest.raises(KafkaError):
        _ = created.value
    simulated.disk.fail = lambda _, name: operations.append(name)
    assert simulated.controller.create_topics([NewTopic("u")]).value.result[0].error is None
    assert "u" in simulated.image.topics


def test_letting_go_of_what_a_snapshot_replaces_waits_for_no_sync(simulated, operations):
    log = simulated.controller.log
    log.write_snapshot(simulated.image)
    operations.clear()
    log.snapshot_ended(None)
    assert any(name.endswith(".log.deleted") for name in operations)
    assert not [name for name in operations if name.startswith("sync")]


def test_records_of_a_transaction_count_together_or_not_at_all(node):
    def append(*records):
        node.controller._log.append(records)

    append(BeginTransactionRecord(name="one"), TopicRecord(name="a", topic_id=b"a" * 16))
    append(TopicRecord(name="b", topic_id=b"b" * 16), EndTransactionRecord())
    append(BeginTransactionRecord(), TopicRecord(name="c", topic_id=b"c" * 16), AbortTransactionRecord())
    append(BeginTransactionRecord(), TopicRecord(name="d", topic_id=b"d" * 16))
    node.restart()
    assert sorted(node.image.topics) == ["a", "b"]


def format_as_kafka(directory, snapshot):
    (directory / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    (directory / "bootstrap.checkpoint").write_bytes(snapshot)


def test_a_directory_formatted_by_kafka_begins_with_its_features(tmp_path):
    records = [FeatureLevelRecord(name="metadata.version", feature_level=25)]
    formatted = encode_snapshot(records, epoch=0, last_contained_ms=0, now_ms=1)
    format_as_kafka(tmp_path, formatted)
    node = Node(tmp_path)
    for _ in range(2):  # a level that an older release began with is kept
        assert (node.image.features, node.image.configs) == ({"metadata.version": 25}, {})
        node.restart()


def test_eligible_leaders_come_with_the_number_of_replicas_they_need(tmp_path):
    records = [FeatureLevelRecord("metadata.version", 30), FeatureLevelRecord("eligible.leader.replicas.version", 1)]
    format_as_kafka(tmp_path, encode_snapshot(records, epoch=0, last_contained_ms=0, now_ms=1))
    assert Node(tmp_path).image.configs == {(BROKER_RESOURCE, ""): {"min.insync.replicas": "1"}}


def test_a_level_we_do_not_know_is_refused(tmp_path):
    records = [FeatureLevelRecord(name="metadata.version", feature_level=34)]
    format_as_kafka(tmp_path, encode_snapshot(records, epoch=0, last_contained_ms=0, now_ms=1))
    with pytest.raises(
        UnsupportedMetadataError, match=r"level 34 of metadata\.version; this broker knows levels 7 to 33"
    ):
        Node(tmp_path)


@pytest.mark.parametrize("is_empty", [False, True])
def test_partitions_whose_metadata_are_lost_are_left_where_they_are(is_empty, tmp_path):
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    for name in ("t-0", "t-1", "notes-1"):
        (tmp_path / name).mkdir()
    (tmp_path / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAQACAAAAAAAAAAA\n")
    (tmp_path / "t-1" / f"{0:020d}.log").touch()
    (tmp_path / "notes-1" / "letter.txt").touch()
    if is_empty:
        (tmp_path / "__cluster_metadata-0").mkdir()
        (tmp_path / "__cluster_metadata-0" / f"{0:020d}.log").touch()

    def found():
        kept = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.suffix == ".log"}
        return kept, {*tmp_path.iterdir()}

    before = found()
    with pytest.raises(LostMetadataError, match=r"has partitions \(t-0 and 1 others\), and no metadata"):
        Node(tmp_path)
    assert found() == before


def test_dynamic_voters_are_carried_on(tmp_path):
    voters = VotersRecord(voters=[Voter(voter_id=1, voter_directory_id=b"d" * 16)])
    controls = [
        (ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1), 0),
        (ControlRecordType.KRAFT_VOTERS, voters, 0),
    ]
    formatted = encode_snapshot([], epoch=0, last_contained_ms=0, now_ms=1, controls=controls)
    (tmp_path / "__cluster_metadata-0").mkdir()
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    (tmp_path / "__cluster_metadata-0" / f"{0:020d}-{0:010d}.checkpoint").write_bytes(formatted)
    node = Node(tmp_path)
    assert node.image.features["metadata.version"] == 33
    assert json.loads((node.directory / "quorum-state").read_text())["data_version"] == 1
    node.restart()
    assert node.controller._log.quorum.voters == voters
    snapshot(node.controller._log, node.image)
    node.restart()
    assert node.controller._log.quorum.voters == voters
    assert node.controller._log.quorum.kraft_version == 1


def test_the_log_of_another_quorum_is_left_alone(node):
    change = LeaderChangeMessage(leader_id=1, voters=[LeaderVoter(voter_id=1), LeaderVoter(voter_id=2)])
    log = node.controller._log
    log._append(encode_controls([(ControlRecordType.LEADER_CHANGE, change, 0)], base_offset=0, epoch=1, timestamp=1))
    with pytest.raises(ForeignQuorumError, match="of the nodes 1, 2, but this is node 1"):
        node.restart()


def test_a_missing_snapshot_is_noticed(node):
    start(node)
    log = node.controller._log
    snapshot(log, node.image)
    (found,) = list_snapshots(node.disk, str(node.directory))
    (node.directory / found.file_name).unlink()
    node.logs.shutdown()
    with pytest.raises(ReplayError, match="no snapshot covers"):
        node.restart()


def test_an_unfinished_or_damaged_snapshot_is_refused():
    whole = encode_snapshot([TopicRecord(name="a", topic_id=b"a" * 16)], epoch=1, last_contained_ms=0, now_ms=1)
    assert len(decode_snapshot(whole)) == 2
    footer = encode_snapshot([], epoch=1, last_contained_ms=0, now_ms=1)
    for cut in (len(whole) - 1, len(whole) - 75, 0, 83):
        with pytest.raises(WireError):
            decode_snapshot(whole[:cut])
    flipped = bytearray(whole)
    flipped[120] ^= 1
    with pytest.raises(WireError):
        decode_snapshot(bytes(flipped))
    records = encode_records([TopicRecord(name="a", topic_id=b"a" * 16)], base_offset=0, epoch=1, timestamp=1)
    with pytest.raises(WireError, match="without a header"):
        decode_snapshot(records + footer[83:])


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.integers(0, 5), st.integers(1, 4)),
        st.tuples(st.just("grow"), st.integers(0, 5), st.integers(1, 9)),
        st.tuples(st.just("delete"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("config"), st.integers(0, 5), st.integers(0, 3)),
        st.tuples(st.just("fence"), st.integers(1, 3), st.just(0)),
        st.tuples(st.just("unfence"), st.integers(1, 3), st.just(0)),
        st.tuples(st.just("ids"), st.integers(1, 3), st.just(0)),
        st.tuples(st.just("snapshot"), st.just(0), st.just(0)),
        st.tuples(st.just("restart"), st.booleans(), st.booleans()),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=60)
@given(OPERATIONS)
def test_the_log_and_its_snapshots_always_give_the_same_image(tmp_path_factory, operations):
    node = Node(tmp_path_factory.mktemp("node"))
    node.controller.start_brokers([registration(i) for i in (1, 2, 3)])
    for what, first, second in operations:
        perform(node, what, first, second)
    before = node.state()
    node.restart()
    assert node.state() == before


def perform(node, what, first, second):
    controller = node.controller
    name = f"t{first}"
    match what:
        case "create":
            controller.create_topics([NewTopic(name, second, min(second, 3))])
        case "grow":
            controller.create_partitions([NewPartitions(name, second)])
        case "delete":
            controller.delete_topics([t.id for t in [node.image.topic(name)] if t is not None])
        case "config":
            if node.image.topic(name) is not None:
                alter(controller, TOPIC_RESOURCE, name, retention_ms=str(second) if second else None)
        case "fence":
            controller.fence_broker(first)
        case "unfence":
            controller.start_broker(registration(first))
        case "ids":
            controller.allocate_producer_ids(first)
        case "snapshot":
            snapshot(controller._log, node.image)
        case "restart":
            node.restart(clean=first)
            node.controller.start_brokers([registration(i) for i in (1, 2, 3)], clean=second)


def upgrade(node, **more):
    updates = [FeatureUpdate("group.version", 0, 2), FeatureUpdate("kraft.version", 1)]
    return node.controller.update_features(updates, static_min_isr=1, **{"validate_only": False, **more})


def test_static_voters_become_dynamic_ones_in_a_batch_of_their_own(node):
    start(node)
    assert upgrade(node, validate_only=True).done
    assert (node.log.quorum.kraft_version, node.image.features["group.version"]) == (0, 1)
    begin = node.log.end_offset
    assert upgrade(node).value is None
    batches = [decode_batch(header, data) for header, data in node.log._log.batches(begin)]
    assert [len(batch.controls) for batch in batches] == [2, 0]
    assert [kind for kind, _ in batches[0].controls] == [
        ControlRecordType.KRAFT_VERSION,
        ControlRecordType.KRAFT_VOTERS,
    ]
    assert (node.image.offset, node.image.features.get("group.version")) == (begin + 2, None)
    own = uuid_from_str(node.logs.metadata_directory_id)
    assert (node.log.quorum.kraft_version, node.log.quorum.directory_id) == (1, own)
    assert node.image.kraft_version == 1
    upgrade(node)
    assert node.log.end_offset == begin + 3


@pytest.mark.parametrize("from_snapshot", [True, False])
def test_dynamic_voters_are_there_after_a_restart(node, from_snapshot):
    start(node)
    upgrade(node)
    if from_snapshot:
        snapshot(node.log, node.image)
    own = node.log.quorum.directory_id
    node.restart()
    assert (node.log.quorum.kraft_version, node.log.quorum.directory_id) == (1, own)
    assert node.image.kraft_version == 1
    assert json.loads((node.directory / "quorum-state").read_text())["data_version"] == 1


def test_voters_stay_static_where_the_disk_refuses(tmp_path):
    disk = SimulatedDisk()
    node = Node(tmp_path, disk=disk)
    start(node)
    disk.fail = lambda _, name: OSError(errno.EIO, "bad") if "sync" in name else None
    assert isinstance(upgrade(node).error, KafkaError)
    assert (node.log.quorum.kraft_version, node.image.kraft_version) == (0, 0)
