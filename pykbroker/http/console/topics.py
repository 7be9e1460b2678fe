"""Topics and partitions: listed from the metadata, changed by requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pykbroker.client.errors import raise_for
from pykbroker.metadata.image import NO_LEADER
from pykbroker.security.operations import DESCRIBE
from pykbroker.security.resources import TOPIC
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pykbroker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pykbroker.wire.primitives import uuid_to_str

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console
    from pykbroker.metadata.image import TopicImage
    from pykbroker.partitions.partition import Partition

#: Rows per page.
MOST_ROWS: Final = 200
_MOST_SETTINGS: Final = 100
_TIMEOUT_MS: Final = 30_000
_NAME: Final = 249
#: Topics or partitions per slice.
_AT_ONCE: Final = 50


async def listed(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a page of topics by name, those that contain ``match``; internal ones last. ``limits`` says what is left out."""
    brokers = console.brokers
    start, limit = call.whole("start", 0), call.whole("limit", 50, least=1, most=MOST_ROWS)
    match = call.text("match", "", most=_NAME).lower()
    names = list(brokers.cluster().metadata.image.topics)
    found = sorted([
        (name.startswith("__"), name)
        async for name in console.turn().each(names)
        if match in name.lower() and brokers.sees(name)
    ])  # fmt: skip
    rows = []
    for _, name in found[start : start + limit]:
        cluster = brokers.cluster()
        topic = cluster.metadata.image.topics.get(name)
        if topic is not None:
            rows.append(await _sums(console, cluster, topic))
    limits = brokers.principal.limits(DESCRIBE, TOPIC)
    return {"total": len(found), "start": start, "topics": rows, "limits": limits}


async def _sums(console: Console, cluster: Cluster, topic: TopicImage) -> dict[str, Any]:
    """Return a topic and the sums of its partitions; logs that are closed since the start are not counted."""
    turn = console.turn()
    records = size = offline = under = closed = 0
    for number, image in enumerate(list(topic.partitions.values())):
        each = cluster.partition(topic.name, image.index)
        if each is None:
            continue
        log = each.opened_log
        if log is not None:
            records += log.high_watermark - log.log_start_offset
            size += log.size_bytes
        closed += log is None and cluster.is_closed(each)
        offline += each.leader == NO_LEADER
        under += len(each.isr) < len(each.replicas)
        if not number % _AT_ONCE:
            await turn.share()
    return {
        "name": topic.name,
        "id": uuid_to_str(topic.id),
        "internal": topic.internal,
        "partitions": len(topic.partitions),
        "replicas": len(topic.partitions[0].replicas),
        "records": records,
        "bytes": size,
        "offline": offline,
        "under_replicated": under,
        "closed": closed,
    }


async def one(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a topic with its sums, and whether a schema registry is configured."""
    sums = await _sums(console, console.brokers.cluster(), _topic(console, call))
    return {**sums, "registry": console.registry is not None}


def _topic(console: Console, call: ConsoleCall) -> TopicImage:
    name = call.text("topic", most=_NAME)
    topic = console.brokers.cluster().metadata.image.topics.get(name) if console.brokers.sees(name) else None
    if topic is None:
        raise VerbRefused(404, f"there is no topic {name}")
    return topic


async def partitions(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a page of a topic's partitions; their closed logs are opened."""
    topic = _topic(console, call)
    start, limit = call.whole("start", 0), call.whole("limit", 50, least=1, most=MOST_ROWS)
    cluster = console.brokers.cluster()
    indexes = range(start, min(start + limit, len(topic.partitions)))
    found = [each for index in indexes if (each := cluster.partition(topic.name, index)) is not None]
    if any(map(cluster.is_closed, found)):
        await console.brokers.outcome(cluster.open_logs(found))
    turn = console.turn()
    rows = []
    for number, each in enumerate(found):
        is_new = each.opened_log is None  # its log is created on the disk now
        rows.append(_row(each))
        if is_new or not number % _AT_ONCE:
            await turn.share()
    return {"total": len(topic.partitions), "start": start, "partitions": rows}


def _row(each: Partition) -> dict[str, Any]:
    row: dict[str, Any] = {
        "index": each.index,
        "leader": each.leader,
        "epoch": each.leader_epoch,
        "replicas": each.replicas,
        "isr": each.isr,
    }
    try:
        log = each.log
    except KafkaError as error:
        return {**row, "error": str(error)}
    return {
        **row,
        "begin": log.log_start_offset,
        "end": log.high_watermark,
        "stable": log.last_stable_offset,
        "bytes": log.size_bytes,
        "segments": len(log.segments),
    }


async def create(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Create a topic by CreateTopics; -1 is the broker's default."""
    configs = [
        CreatableTopicConfig(inner.text("name"), inner.text("value"))
        for inner in map(call.inner, call.objects("configs", most=_MOST_SETTINGS))
    ]
    wanted = CreatableTopic(
        name=call.text("topic", most=_NAME),
        num_partitions=call.whole("partitions", -1, least=-1, most=1_000_000),
        replication_factor=call.whole("replicas", -1, least=-1, most=32_767),
        assignments=[],
        configs=configs,
    )
    (result,) = (await console.brokers.ask(CreateTopicsRequest([wanted], _TIMEOUT_MS), 7)).topics
    raise_for(result.error_code, result.error_message)
    return {"topic": wanted.name, "partitions": result.num_partitions}


async def delete(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Delete one topic by DeleteTopics."""
    name = call.text("topic", most=_NAME)
    asked = DeleteTopicsRequest(topics=[DeleteTopicState(name)], topic_names=[], timeout_ms=_TIMEOUT_MS)
    (result,) = (await console.brokers.ask(asked, 6)).responses
    raise_for(result.error_code, result.error_message)
    return {}


async def add_partitions(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Add partitions; ``count`` is their new total."""
    name, count = call.text("topic", most=_NAME), call.whole("count", least=1, most=1_000_000)
    wanted = CreatePartitionsTopic(name, count, assignments=None)
    (result,) = (await console.brokers.ask(CreatePartitionsRequest([wanted], _TIMEOUT_MS), 3)).results
    raise_for(result.error_code, result.error_message)
    return {}


async def delete_records(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Delete the records of a partition before ``offset``; -1 deletes all."""
    name, index = call.text("topic", most=_NAME), call.whole("partition", most=1_000_000)
    wanted = DeleteRecordsPartition(index, call.whole("offset", least=-1))
    asked = DeleteRecordsRequest([DeleteRecordsTopic(name, [wanted])], _TIMEOUT_MS)
    answer = await console.brokers.ask_leader(name, index, asked, 2)
    (result,) = answer.topics[0].partitions
    raise_for(result.error_code)
    return {"begin": result.low_watermark}
