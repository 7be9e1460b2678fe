"""A copy of the metadata log beside a model of the controllers that have it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.metadata.snapshot import SnapshotId, list_snapshots
from pykbroker.quorum.observer import Address
from pykbroker.runtime.slices import WEIGHT_OF_A_TURN
from pykbroker.tests.quorum.controllers import NODES, Controllers
from pykbroker.tests.quorum.node import CONFIG, Node
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.internal.abort_transaction_record import AbortTransactionRecord
from pykbroker.wire.internal.begin_transaction_record import BeginTransactionRecord
from pykbroker.wire.internal.end_transaction_record import EndTransactionRecord
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord
from pykbroker.wire.internal.partition_record import PartitionRecord
from pykbroker.wire.internal.remove_topic_record import RemoveTopicRecord
from pykbroker.wire.internal.topic_record import TopicRecord
from pykbroker.wire.messages.fetch import EpochEndOffset, FetchRequest
from pykbroker.wire.messages.fetch_snapshot import FetchSnapshotRequest


@pytest.fixture
def controllers() -> Controllers:
    controllers = Controllers()
    for _ in range(3):
        controllers.append(controllers.level(), controllers.level())
    controllers.commit()
    return controllers


def follows(node: Node) -> None:
    """The node has the log, byte for byte, and what it gives."""
    node.settle()
    controllers = node.controllers
    assert not node.failures
    assert node.bytes_of_log() == controllers.data(node.copy.start_offset)
    assert node.image.features == controllers.image(controllers.high_watermark).features


def test_the_log_is_copied(controllers):
    node = Node(controllers)
    follows(node)
    assert node.image.offset == controllers.high_watermark - 1
    assert node.observer.leader == NODES[1]  # named by one that does not lead


def test_what_is_not_committed_is_not_seen(controllers):
    node = Node(controllers)
    follows(node)
    before = dict(node.image.features)
    controllers.append(controllers.level())
    follows(node)
    assert (node.copy.end_offset, node.image.features) == (controllers.end, before)
    controllers.commit()
    follows(node)
    assert node.image.features != before


def test_many_batches_are_applied_in_slices(controllers):
    for _ in range(600):
        controllers.append(*(controllers.level() for _ in range(5)))
    controllers.commit()
    node = Node(controllers)
    follows(node)
    offsets = [offset for offset, _ in node.told]
    assert len(offsets) >= 600 * 5 // 105  # no step has more records than its bound and one batch
    assert offsets == sorted(set(offsets))


def test_a_large_batch_is_worked_out_in_slices_and_seen_at_once(controllers):
    """Of partitions, which the controller changes by thousands when a broker comes or goes."""
    topic = TopicRecord(name="t", topic_id=bytes([7] * 16))
    partitions = [
        PartitionRecord(partition_id=index, topic_id=topic.topic_id, replicas=[1], isr=[1], leader=1)
        for index in range(2000)
    ]
    controllers.append(controllers.level())
    controllers.append(topic, *partitions)
    controllers.commit()
    node = Node(controllers)
    turns = []
    while not node.has_all():
        if node.controllers.pending:
            node.controllers.answer()
        elif node.runtime.wake_queue:
            node.runtime.wake_queue.run()
            turns.append(len(node.image.topics))
        else:
            node.rest()
    assert len(turns) >= 2000 // WEIGHT_OF_A_TURN
    assert turns == sorted(turns)
    follows(node)
    found = node.image.topics["t"].partitions
    assert list(found) == list(range(2000))
    (seen,) = [delta for _, delta in node.told if delta.partitions]
    assert [each.after for each in seen.partitions] == list(found.values())


@pytest.mark.parametrize("within_transaction", [False, True])
def test_what_befalls_partitions_that_are_there_is_seen_some_hundred_at_a_time(controllers, within_transaction):
    """As when a broker stops, unless that is within a transaction; the offset stays that before the batch until all of it is seen."""
    topic = TopicRecord(name="t", topic_id=bytes([7] * 16))
    controllers.append(
        topic,
        *(
            PartitionRecord(partition_id=index, topic_id=topic.topic_id, replicas=[1, 2], isr=[1, 2], leader=1)
            for index in range(1000)
        ),
    )
    controllers.commit()
    node = Node(controllers)
    follows(node)
    before = node.image.offset
    node.told.clear()
    changes = [
        PartitionChangeRecord(partition_id=index, topic_id=topic.topic_id, isr=[2], leader=2) for index in range(1000)
    ]
    around = [BeginTransactionRecord(name="t")], [EndTransactionRecord()]
    controllers.append(*(around[0] + changes + around[1] if within_transaction else changes))
    controllers.commit()
    follows(node)
    partitions = node.image.topics["t"].partitions.values()
    assert [(each.leader, each.isr, each.leader_epoch) for each in partitions] == [(2, [2], 0)] * 1000
    told = [(offset, len(delta.partitions)) for offset, delta in node.told if delta.partitions]
    whole = controllers.high_watermark - 1
    parts = [(before, 300), (before, 300), (before, 300), (whole, 100)]
    assert told == ([(whole, 1000)] if within_transaction else parts)
    assert [change.after.index for _, delta in node.told for change in delta.partitions] == list(range(1000))
    assert not node.copy.is_amid_batch


def test_a_transaction_is_seen_whole(controllers):
    node = Node(controllers)
    controllers.append(BeginTransactionRecord(name="t"), controllers.level())
    controllers.commit()
    follows(node)
    was, seen = node.image.offset, dict(node.image.features)
    controllers.append(controllers.level())
    controllers.commit()
    follows(node)
    assert (node.image.offset, node.image.features) == (was, seen)
    controllers.append(EndTransactionRecord())
    controllers.commit()
    follows(node)
    assert node.image.offset == controllers.end - 1
    assert node.image.features != seen


def test_an_aborted_transaction_is_not_seen(controllers):
    node = Node(controllers)
    follows(node)
    seen = dict(node.image.features)
    controllers.append(BeginTransactionRecord(name="t"), controllers.level(), AbortTransactionRecord(reason="no"))
    controllers.commit()
    follows(node)
    assert node.image.features == seen


# -- snapshots ---------------------------------------------------------------------------------------------------------


def test_a_snapshot_comes_in_pieces(controllers):
    controllers.take_snapshot()
    controllers.append(controllers.level())
    controllers.commit()
    node = Node(controllers)
    follows(node)
    pieces = [each for each in controllers.asked if isinstance(each, FetchSnapshotRequest)]
    assert len(pieces) == -(-len(controllers.snapshot_data) // CONFIG["controller.quorum.fetch.snapshot.max.bytes"])
    assert list_snapshots(node.disk, node.directory) == [controllers.snapshot]
    assert node.disk.read(f"{node.directory}/{controllers.snapshot.file_name}") == controllers.snapshot_data


def test_a_node_that_fell_behind_takes_a_snapshot(controllers):
    node = Node(controllers)
    follows(node)
    topic = TopicRecord(name="t", topic_id=bytes([7] * 16))
    controllers.append(topic, PartitionRecord(topic_id=topic.topic_id, replicas=[1], isr=[1], leader=1))
    controllers.commit()
    follows(node)
    for _ in range(4):
        controllers.append(controllers.level())
    controllers.commit()
    controllers.take_snapshot()  # the model's have no topics: it is gone
    image = node.image
    node.settle()
    _, delta = node.told[-1]
    assert [each.name for each in delta.deleted_topics] == ["t"]
    assert delta.features == {name for name in image.features if image.features[name] > 6}
    assert node.image is image
    assert not image.topics
    node.crash()
    node.settle()
    assert node.image.features == image.features


def test_a_snapshot_that_is_gone_is_asked_for_anew(controllers):
    controllers.take_snapshot()
    node = Node(controllers)
    while not node.observer.snapshot:
        node.step()
    node.step()
    controllers.append(controllers.level())
    controllers.commit()
    controllers.take_snapshot()
    follows(node)
    assert node.copy.snapshot == controllers.snapshot


def test_a_piece_that_does_not_fit_is_not_taken(controllers):
    controllers.take_snapshot()
    node = Node(controllers)
    while not node.observer.snapshot:
        node.step()

    def elsewhere(response):
        response.topics[0].partitions[0].position = 7

    node.rest()
    controllers.answer(elsewhere)
    assert node.observer.snapshot is None
    follows(node)


def test_a_snapshot_without_an_end_changes_nothing(controllers):
    node = Node(controllers)
    follows(node)
    node.stop()
    controllers.append(controllers.level())
    controllers.commit()
    controllers.take_snapshot()
    controllers.snapshot_data = controllers.snapshot_data[:-60]
    node.start()
    node.settle()
    assert "changed" in node.failures[0]
    assert node.image.offset == -1
    assert not list_snapshots(node.disk, node.directory)
    assert node.bytes_of_log()


def test_a_crash_between_a_snapshot_and_its_log(controllers):
    """The snapshot is on disk, and the log is still the one before it."""
    node = Node(controllers)
    follows(node)
    node.stop()
    controllers.append(controllers.level())
    controllers.commit()
    controllers.take_snapshot()
    node.disk.write(f"{node.directory}/{controllers.snapshot.file_name}", controllers.snapshot_data)
    node.start()
    assert node.copy.start_offset == node.copy.end_offset == controllers.snapshot.offset
    follows(node)


# -- leaders -----------------------------------------------------------------------------------------------------------


def test_a_leader_that_stops_is_followed_by_the_next(controllers):
    node = Node(controllers)
    follows(node)
    controllers.down.add(1)
    controllers.elect(3)
    controllers.append(controllers.level())
    controllers.commit()
    follows(node)
    assert (node.observer.leader_id, node.observer.epoch) == (3, 2)
    assert node.leaders == [NODES[1], NODES[3]]
    assert node.disk.read(f"{node.directory}/quorum-state").startswith(b'{"leaderId":3,"leaderEpoch":2')


def test_what_the_new_leader_does_not_have_is_cut(controllers):
    node = Node(controllers)
    follows(node)
    controllers.append(controllers.level())
    controllers.append(controllers.level())
    follows(node)
    controllers.elect(2, lost=2)
    controllers.commit()
    follows(node)
    node.crash()
    follows(node)


def test_a_node_cuts_on_from_epoch_to_epoch(controllers):
    """Its last epochs are none that the leader knows."""
    node = Node(controllers)
    follows(node)
    for leader in (2, 3, 1):
        controllers.append(controllers.level())
        follows(node)
        controllers.elect(leader, lost=1)
        follows(node)
    node.stop()
    controllers.elect(2, lost=9)
    controllers.append(controllers.level())
    controllers.commit()
    node.start()
    follows(node)


def test_a_leader_of_an_earlier_epoch_is_not_believed(controllers):
    node = Node(controllers)
    follows(node)
    controllers.elect(2)
    controllers.commit()
    follows(node)
    end = node.copy.end_offset

    def earlier(response):
        partition = response.responses[0].partitions[0]
        partition.current_leader.leader_epoch, partition.current_leader.leader_id = 1, 1
        partition.diverging_epoch = EpochEndOffset(1, 1)

    node.rest()
    controllers.answer(earlier)
    assert (node.observer.leader, node.observer.epoch, node.copy.end_offset) == (None, 2, end)
    follows(node)


def test_what_was_committed_is_never_cut(controllers):
    node = Node(controllers)
    follows(node)

    def diverging(response):
        response.responses[0].partitions[0].diverging_epoch = EpochEndOffset(1, 3)

    node.rest()
    controllers.answer(diverging)
    assert len(node.failures) == 1
    assert "parts from this node's at offset 3, before 7, up to which it was committed." in node.failures[0]
    assert node.copy.end_offset == 7
    assert not controllers.pending


def test_an_end_that_is_none_cuts_nothing(controllers):
    node = Node(controllers)
    follows(node)
    controllers.append(controllers.level())
    follows(node)
    end = node.copy.end_offset

    def diverging(response):
        response.responses[0].partitions[0].diverging_epoch = EpochEndOffset(-1, end)

    node.rest()
    controllers.answer(diverging)
    assert (node.copy.end_offset, node.observer.leader, node.failures) == (end, None, [])
    follows(node)


@pytest.mark.parametrize("seed", range(20))
def test_what_replaces_a_cut_tail_is_recovered_whole(controllers, seed):
    """A power loss leaves parts of it, below the point from which the tail was known to be synced."""
    node = Node(controllers)
    for _ in range(8):
        controllers.append(controllers.level())
    follows(node)
    node.restart()
    controllers.elect(2, lost=8)
    for _ in range(6):
        controllers.append(controllers.level())
    follows(node)
    node.crash(seed)
    follows(node)


def test_voters_that_are_not_reached_are_asked_in_turn(controllers, caplog):
    controllers.down.update(NODES)
    node = Node(controllers)
    for _ in range(6):
        node.step()
    node.rest()
    assert [each.address for each in controllers.pending] in ([NODES[2]], [NODES[3]])
    assert sorted(each.args[0] for each in caplog.records) == [NODES[2], NODES[3]]  # each once
    controllers.down.clear()
    follows(node)


def test_another_cluster(controllers):
    node = Node(controllers, cluster_id="BBBBBBBBBBBBBBBBBBBBBB")
    node.settle()
    (sentence,) = node.failures
    assert sentence.startswith(
        "The metadata log cannot be followed at c2:9093: the controllers are of another cluster: "
    )
    assert not node.copy.end_offset


# -- answers that are wrong --------------------------------------------------------------------------------------------


def damaged(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(
    ("change", "taken"),
    [
        pytest.param(lambda data: data[:-5], True, id="torn"),
        pytest.param(lambda data: data[:30], False, id="torn in the first header"),
        pytest.param(damaged, False, id="damaged"),
        pytest.param(lambda data: data[:8] + b"\x7f\xff\xff\xff" + data[12:], False, id="a length beyond all"),
        pytest.param(lambda data: data[:8] + b"\xff\xff\xff\xff" + data[12:], False, id="a negative length"),
        pytest.param(lambda data: b"\xff" * 8 + data[8:], False, id="a negative offset"),
    ],
)
def test_records_that_are_torn_or_damaged(controllers, change, taken):
    node = Node(controllers)
    while node.observer.leader is None:
        node.step()

    def wrong(response):
        partition = response.responses[0].partitions[0]
        partition.records = change(partition.records)

    node.rest()
    controllers.answer(wrong)
    assert (node.copy.end_offset > 0) is taken
    assert node.observer.high_watermark <= node.copy.end_offset
    assert (node.observer.leader is not None) is taken
    assert not node.failures
    follows(node)


def test_an_answer_without_a_partition(controllers):
    node = Node(controllers)
    node.rest()
    controllers.answer(lambda response: response.responses.clear())
    assert node.observer.leader is None
    follows(node)


def test_a_disk_that_takes_nothing_ends_it(controllers):
    node = Node(controllers)
    node.disk.fail = lambda number, name: OSError(5, "Input/output error")
    node.settle()
    assert "cannot be written" in node.failures[0]


def test_a_record_that_contradicts_the_image_ends_it(controllers):
    node = Node(controllers)
    follows(node)
    offset = node.image.offset
    controllers.append(PartitionRecord(topic_id=bytes([9] * 16)))
    controllers.commit()
    node.settle()
    assert node.failures[0].startswith(
        f"The metadata log has what this broker does not understand after offset {offset}:"
    )


def test_an_answer_after_the_end_is_ignored(controllers):
    node = Node(controllers)
    node.observing.end()
    controllers.answer()
    node.rest()
    assert not node.copy.end_offset
    assert not controllers.pending


def test_who_asks_says_who_it_is(controllers):
    node = Node(controllers)
    follows(node)
    asked = controllers.asked[-1]
    assert isinstance(asked, FetchRequest)
    partition = asked.topics[0].partitions[0]
    assert (asked.cluster_id, asked.replica_state.replica_id) == (node.cluster_id, 4)
    assert (partition.fetch_offset, partition.current_leader_epoch, partition.last_fetched_epoch) == (7, 1, 1)
    assert partition.replica_directory_id == bytes(range(16))


def test_addresses_are_readable():
    assert str(Address("c1", 9093)) == "c1:9093"


def test_the_errors_of_both_messages_are_told_apart(controllers):
    """A leader that says it leads no more is not asked again before another names it."""
    node = Node(controllers)
    follows(node)

    def refuse(response):
        response.responses[0].partitions[0].error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER

    node.rest()
    controllers.answer(refuse)
    assert node.observer.leader is None
    follows(node)


# -- any order ---------------------------------------------------------------------------------------------------------

DEEDS = (
    "append",
    "transaction",
    "commit",
    "elect",
    "cut",
    "snapshot",
    "down",
    "lose",
    "tear",
    "restart",
    "kill",
    "crash",
)


def do(node: Node, deed: str, rng: random.Random) -> None:
    """One thing happens to the node or to its controllers."""
    controllers = node.controllers
    if deed == "append":
        controllers.append(*(controllers.level() for _ in range(rng.randint(1, 4))))
    elif deed == "transaction":
        controllers.append(BeginTransactionRecord(name="t"), controllers.level())
        controllers.append(controllers.level(), rng.choice([EndTransactionRecord(), AbortTransactionRecord(reason="")]))
    elif deed == "commit":
        controllers.commit()
    elif deed in ("elect", "cut"):
        controllers.elect(rng.randint(1, 3), rng.randint(1, 4) if deed == "cut" else 0)
    elif deed == "snapshot":
        if controllers.high_watermark > (controllers.snapshot or SnapshotId(0, 0)).offset:
            controllers.take_snapshot(drop=rng.random() < 0.7)
    elif deed == "down":
        controllers.down = set(rng.sample(sorted(NODES), rng.randint(0, 3)))
    elif deed == "lose" and controllers.pending:
        controllers.lose()
    elif deed == "tear" and controllers.pending:
        controllers.answer(lambda response: tear(response, rng))
    elif deed == "restart":
        node.restart()
    elif deed == "kill":
        node.stop()
        node.start()
    elif deed == "crash":
        node.crash(rng.randint(0, 1000))


def tear(response, rng: random.Random) -> None:
    """Cut off what an answer has of records."""
    for topic in getattr(response, "responses", []):
        for partition in topic.partitions:
            if partition.records:
                partition.records = partition.records[: rng.randint(0, len(partition.records))]


@given(st.lists(st.sampled_from(DEEDS), max_size=40), st.randoms(use_true_random=False))
def test_any_order_of_events(deeds, rng):
    """What is seen is always what the log gives up to some offset; at the quiet end the copy is the log."""
    node = Node()
    for deed in deeds:
        do(node, deed, rng)
        for _ in range(rng.randint(0, 3)):
            node.step()
        assert not node.failures
        assert node.image.offset < node.controllers.high_watermark
        assert node.image.features == node.controllers.image(node.image.offset + 1).features
    node.controllers.down.clear()
    node.controllers.commit()
    follows(node)


def test_a_record_of_impossible_form_ends_it(controllers):
    """Two topics of one name, of which one is removed twice."""
    node = Node(controllers)
    follows(node)
    one, other = (TopicRecord(name="t", topic_id=bytes([number] * 16)) for number in (7, 8))
    controllers.append(one, other, *(RemoveTopicRecord(topic_id=each.topic_id) for each in (one, other)))
    controllers.commit()
    node.settle()
    assert "has what this broker does not understand after offset 6: KeyError('t')." in node.failures[0]


def test_what_one_subscriber_cannot_carry_out_the_others_hear(controllers, caplog):
    node = Node(controllers)
    told = []

    def refuses(image, delta):
        raise ValueError("an entity of nothing")

    node.observing.subscribe(refuses)
    node.observing.subscribe(lambda image, delta: told.append(image.offset))
    follows(node)
    assert told[-1] == controllers.high_watermark - 1
    assert "up to offset 6 is not carried out whole" in caplog.text


def test_a_leader_that_does_not_wait_is_not_asked_without_a_pause(controllers):
    node = Node(controllers)
    follows(node)
    before = len(controllers.asked)
    for _ in range(100):
        if not controllers.pending:
            break
        controllers.answer()
        node.runtime.wake_queue.run()
    assert len(controllers.asked) - before < 20
    controllers.append(controllers.level())
    controllers.commit()
    follows(node)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "it answers CLUSTER_AUTHORIZATION_FAILED"),
        (999, "it answers UNKNOWN_SERVER_ERROR"),
    ],
)
def test_what_a_leader_refuses_is_said_once(controllers, caplog, code, said):
    node = Node(controllers)
    follows(node)

    def refuses(response):
        response.responses[0].partitions[0].error_code = code

    for _ in range(3):
        node.rest()
        controllers.answer(refuses)
    assert caplog.text.count(f"The metadata log cannot be fetched from c1:9093: {said}") == 1
    follows(node)


def test_a_leader_that_has_nothing_cut_is_asked_again_after_a_pause(controllers, caplog):
    """It says that both logs part where this one ends."""
    node = Node(controllers)
    follows(node)

    def diverging(response):
        response.responses[0].partitions[0].diverging_epoch = EpochEndOffset(1, node.copy.end_offset)

    node.rest()
    end = node.copy.end_offset
    controllers.answer(diverging)
    node.runtime.wake_queue.run()
    assert (controllers.pending, node.copy.end_offset, node.failures) == ([], end, [])
    assert "both logs part at the end of this one" in caplog.text
    follows(node)
