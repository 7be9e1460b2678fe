"""Everything that clients can read of a cluster, as plain values, so that two pictures of it can be compared.

Left out is what a start or a stop changes by its nature: leader epochs, and who is connected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compat_tests.directories.client import BROKER, GROUP, NOT_YET, TOPIC, TRANSACTION, Client
from compat_tests.directories.new_groups import PREFIX, NewGroups, described
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pykbroker.wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from pykbroker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.list_transactions import ListTransactionsRequest
from pykbroker.wire.messages.metadata import MetadataRequest
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from pykbroker.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from pykbroker.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from pykbroker.wire.records import decode_records, iter_batches

_EARLIEST, _LATEST, _MAX_TIMESTAMP, _EARLIEST_LOCAL = -2, -1, -3, -4
_UNCOMMITTED, _COMMITTED = 0, 1
_OFFSETS_TOPIC, _TRANSACTIONS_TOPIC = "__consumer_offsets", "__transaction_state"

Picture = dict[tuple[Any, ...], Any]


def take(client: Client, new_groups: NewGroups) -> Picture:
    """All there is to read, by what it is. Comparing pictures key by key says what has changed.

    Of the internal topics, which the cleaner rewrites at any time, their meaning stands for their records. Groups that
    pykbroker does not serve are left out.
    """
    client.served()
    metadata = client.ask(MetadataRequest(None), 12)
    picture: Picture = {("cluster",): metadata.cluster_id}
    features = client.ask(ApiVersionsRequest("picture", "1"), 3).finalized_features
    picture["features",] = sorted((each.name, each.max_version_level) for each in features)
    picture["brokers",] = sorted((each.node_id, each.host, each.port, each.rack) for each in metadata.brokers)
    for topic in metadata.topics:
        picture["topic", topic.name] = topic.topic_id, topic.is_internal, len(topic.partitions)
        picture["configs", topic.name] = _configs(client, TOPIC, topic.name)
        for part in topic.partitions:
            index = part.partition_index
            picture["replicas", topic.name, index] = part.leader_id, part.replica_nodes, part.isr_nodes
            look = _ends if topic.is_internal else _log
            picture |= {(what, topic.name, index): value for what, value in look(client, topic.name, index)}
    picture["configs", "every broker"] = [each for each in _configs(client, BROKER, "") if each[2] == 3]
    for directory in client.ask(DescribeLogDirsRequest(None), 4).results:
        partitions = sorted(
            (topic.name, part.partition_index) for topic in directory.topics for part in topic.partitions
        )
        picture["directory", directory.log_dir] = directory.error_code, partitions
    names = {topic.name for topic in metadata.topics}
    if _OFFSETS_TOPIC in names:
        picture |= _groups(client)
        for group in new_groups.streams:
            picture["streams group", group] = described(client, StreamsGroupDescribeRequest([group]), 1)
            picture["committed by", group] = _committed(client, group, stable=True)
        for group in new_groups.consumers:
            picture["consumer group", group] = described(client, ConsumerGroupDescribeRequest([group]), 1)
            picture["committed by", group] = _committed(client, group, stable=True)
    if _TRANSACTIONS_TOPIC in names:
        picture |= _transactions(client)
    quotas = client.ask(DescribeClientQuotasRequest([], False), 1).entries
    picture["quotas",] = sorted(
        ([(e.entity_type, e.entity_name) for e in each.entity], [(v.key, v.value) for v in each.values])
        for each in quotas
    )
    users = client.ask(DescribeUserScramCredentialsRequest(None), 0).results
    picture["scram",] = sorted(
        (each.user, [(info.mechanism, info.iterations) for info in each.credential_infos]) for each in users
    )
    return picture


def changes(before: Picture, after: Picture) -> list[str]:
    """What differs, a line for each: values that are lists are shown where they first differ."""
    return [
        f"{key}: {_difference(before.get(key), after.get(key))}"
        for key in sorted(before.keys() | after.keys(), key=str)
        if before.get(key) != after.get(key)
    ]


def _difference(before: Any, after: Any) -> str:
    if isinstance(before, (list, tuple)) and type(before) is type(after) and len(before) == len(after):
        at = next(i for i, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1])
        return f"[{at}] {_difference(before[at], after[at])}"
    return f"{str(before)[:500]} became {str(after)[:500]}"


def records(client: Client, topic: str, partition: int = 0) -> list[Any]:
    """The records of a partition that clients see, from its start on, those of transactions included."""
    return [
        record
        for header, data in _batches(client, topic, partition)
        if not header.is_control
        for record in decode_records(data, header=header)
    ]


def _configs(client: Client, kind: int, name: str) -> list[tuple[str, str | None, int]]:
    (found,) = client.ask(DescribeConfigsRequest([DescribeConfigsResource(kind, name, None)], False, False), 4).results
    assert found.error_code == 0, found
    return sorted((each.name, each.value, each.config_source) for each in found.configs)


def _log(client: Client, topic: str, index: int) -> Iterator[tuple[str, Any]]:
    """A partition's records with all their batches say, and what can be asked about its offsets."""
    batches = _batches(client, topic, index)
    yield "records", [(_header(header), decode_records(data, header=header)) for header, data in batches]
    yield "bytes", [bytes(data) for _, data in batches]
    epochs = sorted({header.partition_leader_epoch for header, _ in batches})
    yield "ends of epochs", [_epoch_end(client, topic, index, epoch) for epoch in epochs]
    times = [header.max_timestamp for header, _ in batches]
    asked = [_EARLIEST, _EARLIEST_LOCAL, _MAX_TIMESTAMP, *times]
    found = [_offset(client, topic, index, _UNCOMMITTED, when) for when in asked]
    yield "offsets", found if batches else [each[:2] for each in found]  # an empty log is in its leader's newest epoch
    yield from _ends(client, topic, index)
    start = _offset(client, topic, index, _UNCOMMITTED, _EARLIEST)[0]
    committed = _fetch(client, topic, index, start, _COMMITTED)
    yield (
        "committed",
        (
            committed.high_watermark,
            committed.last_stable_offset,
            committed.log_start_offset,
            sorted((each.producer_id, each.first_offset) for each in committed.aborted_transactions or []),
            bytes(committed.records or b""),
        ),
    )
    (state,) = client.ask(DescribeProducersRequest([TopicRequest(topic, [index])]), 0).topics[0].partitions
    yield (
        "producers",
        sorted(
            (
                each.producer_id,
                each.producer_epoch,
                each.last_sequence,
                each.last_timestamp,
                each.coordinator_epoch,
                each.current_txn_start_offset,
            )
            for each in state.active_producers
        ),
    )


def _ends(client: Client, topic: str, index: int) -> Iterator[tuple[str, Any]]:
    yield "ends", [_offset(client, topic, index, isolation, _LATEST)[:2] for isolation in (_UNCOMMITTED, _COMMITTED)]


def _header(header: Any) -> tuple[Any, ...]:
    return tuple(getattr(header, name) for name in header.__slots__)


def _batches(client: Client, topic: str, partition: int) -> list[tuple[Any, memoryview]]:
    found = []
    offset, _, _ = _offset(client, topic, partition, _UNCOMMITTED, _EARLIEST)
    while data := _fetch(client, topic, partition, offset, _UNCOMMITTED).records:
        view = memoryview(bytes(data))
        for position, header in iter_batches(view):
            found.append((header, view[position : position + header.size]))
            offset = header.last_offset + 1
    return found


def _fetch(client: Client, topic: str, partition: int, offset: int, isolation: int) -> Any:
    asked = FetchPartition(partition, fetch_offset=offset, partition_max_bytes=2**30)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=2**30,
        isolation_level=isolation,
        topics=[FetchTopic(topic, partitions=[asked])],
    )
    found = client.ask(request, 12).responses[0].partitions[0]
    assert found.error_code == 0, (topic, partition, found)
    return found


def _offset(client: Client, topic: str, partition: int, isolation: int, timestamp: int) -> tuple[int, int, int]:
    asked = ListOffsetsTopic(topic, [ListOffsetsPartition(partition, -1, timestamp)])
    found = client.ask(ListOffsetsRequest(-1, isolation, [asked]), 8).topics[0].partitions[0]
    assert found.error_code == 0, (topic, partition, timestamp, found)
    return found.offset, found.timestamp, found.leader_epoch


def _epoch_end(client: Client, topic: str, partition: int, epoch: int) -> tuple[int, int]:
    asked = OffsetForLeaderTopic(topic, [OffsetForLeaderPartition(partition, -1, epoch)])
    found = client.ask(OffsetForLeaderEpochRequest(-2, [asked]), 4).topics[0].partitions[0]
    assert found.error_code == 0, (topic, partition, epoch, found)
    return found.leader_epoch, found.end_offset


def _groups(client: Client) -> Picture:
    client.coordinated("anybody", GROUP)
    listed = client.until(lambda found: found.error_code not in NOT_YET, ListGroupsRequest([], []), 5).groups
    listed = [each for each in listed if not each.group_id.startswith(PREFIX)]
    picture: Picture = {
        ("group", each.group_id): (each.protocol_type, each.group_state, each.group_type) for each in listed
    }
    for each in listed:
        if each.group_type == "classic":
            (found,) = client.ask(DescribeGroupsRequest([each.group_id], False), 5).groups
            assert found.error_code == 0, found
            picture["described", each.group_id] = found.group_state, found.protocol_type, found.protocol_data
        for stable in (False, True):
            picture["committed by", each.group_id, stable] = _committed(client, each.group_id, stable=stable)
    return picture


def _committed(client: Client, group: str, *, stable: bool) -> list[tuple[Any, ...]]:
    client.coordinated(group)
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group)], require_stable=stable)
    request.groups[0].topics = None
    (answer,) = client.until(lambda found: found.groups[0].error_code not in NOT_YET, request, 9).groups
    return sorted(
        (t.name, p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata, p.error_code)
        for t in answer.topics
        for p in t.partitions
    )


def _transactions(client: Client) -> Picture:
    client.coordinated("anybody", TRANSACTION)
    listed = client.until(lambda found: found.error_code not in NOT_YET, ListTransactionsRequest(), 1)
    picture: Picture = {}
    for each in listed.transaction_states:
        (found,) = client.ask(DescribeTransactionsRequest([each.transactional_id]), 0).transaction_states
        picture["transaction", each.transactional_id] = (
            found.error_code,
            found.transaction_state,
            found.transaction_timeout_ms,
            found.transaction_start_time_ms,
            found.producer_id,
            found.producer_epoch,
            sorted((topic.topic, sorted(topic.partitions)) for topic in found.topics),
        )
    return picture
