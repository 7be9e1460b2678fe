"""``kafka-topics``: create, list, describe, alter and delete topics."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.errors import raise_for
from pykbroker.client.replica_state import Replicas, read_replicas
from pykbroker.container.tools.printing import print_cells, print_lines
from pykbroker.container.tools.running import Options, ToolError, connect, exactly_one, name_and_value
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from pykbroker.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from pykbroker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from pykbroker.wire.messages.metadata import MetadataResponseTopic
from pykbroker.wire.primitives import uuid_to_str

_ACTIONS = ("list", "create", "describe", "alter", "delete")
#: Options that print only some partitions: a predicate of their state and min.insync.replicas.
_OF_PARTITIONS: Final[dict[str, Callable[[Replicas, int], bool]]] = {
    "under-replicated-partitions": lambda state, _: len(state.isr) < len(state.replicas),
    "unavailable-partitions": lambda state, _: state.leader < 0,
    "under-min-isr-partitions": lambda state, least: state.leader < 0 or len(state.isr) < least,
    "at-min-isr-partitions": lambda state, least: len(state.isr) == least,
}
_MIN_ISR: Final = "min.insync.replicas"
_BROKERS_DEFAULT = -1
_TOPIC = 2  # resource type of settings
_DEFAULT = 5  # source of a setting
_TIMEOUT_MS = 60_000


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    action = exactly_one(options, _ACTIONS)
    if action in ("create", "alter", "delete") and not options.topic:
        raise ToolError(f"--{action} needs --topic NAME.")
    with connect(options) as client:
        {"list": _list, "create": _create, "describe": _describe, "alter": _alter, "delete": _delete}[action](
            client, options
        )


def _options() -> Options:
    made = Options("kafka-topics", "Create, list, describe, alter and delete topics.")
    made.connecting()
    for action in _ACTIONS:
        made.add_argument(f"--{action}", action="store_true")
    made.add_argument("--topic", metavar="NAME", help="which; for --list, --describe and --delete a regular expression")
    made.add_argument("--partitions", metavar="N", type=int)
    made.add_argument("--replication-factor", metavar="N", type=int)
    made.add_argument("--replica-assignment", metavar="1:2,2:3", help="the replicas of each partition")
    made.add_argument("--config", metavar="NAME=VALUE", action="append", default=[])
    made.add_argument("--topic-id", metavar="ID", help="which, for --describe")
    made.flags("if-exists", "if-not-exists", "exclude-internal", "topics-with-overrides", *_OF_PARTITIONS)
    return made


def _found(client: Client, options: argparse.Namespace) -> list[MetadataResponseTopic]:
    """Return the topics to act on, by name."""
    known = sorted(client.metadata(None).topics, key=lambda topic: topic.name or "")
    if options.exclude_internal:
        known = [topic for topic in known if not topic.is_internal]
    if options.topic_id:
        return [topic for topic in known if uuid_to_str(topic.topic_id) == options.topic_id]
    if not options.topic:
        return known
    patterns = [re.compile(_expression(part)) for part in options.topic.split(",")]
    return [topic for topic in known if any(pattern.fullmatch(topic.name or "") for pattern in patterns)]


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ToolError(f"{text!r} is not a regular expression: {error}.") from error
    return text


def _list(client: Client, options: argparse.Namespace) -> None:
    for topic in _found(client, options):
        print_lines(topic.name or "")


def _create(client: Client, options: argparse.Namespace) -> None:
    assigned = _assignments(options.replica_assignment)
    topic = CreatableTopic(
        name=options.topic,
        num_partitions=_BROKERS_DEFAULT if assigned else options.partitions or _BROKERS_DEFAULT,
        replication_factor=_BROKERS_DEFAULT if assigned else options.replication_factor or _BROKERS_DEFAULT,
        assignments=assigned,
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in map(name_and_value, options.config)],
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)
    (answer,) = client.controller().call(request, CreateTopicsResponse).topics
    if answer.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and options.if_not_exists:
        return
    raise_for(answer.error_code, answer.error_message)
    print_lines(f"Created topic {options.topic}.")


def _assignments(text: str | None) -> list[CreatableReplicaAssignment]:
    try:
        return [
            CreatableReplicaAssignment(partition_index=number, broker_ids=[int(each) for each in replicas.split(":")])
            for number, replicas in enumerate((text or "").split(",") if text else ())
        ]
    except ValueError as error:
        raise ToolError(f"--replica-assignment {text} is not like 1:2,2:3: {error}.") from error


def _describe(client: Client, options: argparse.Namespace) -> None:
    topics = _found(client, options)
    if (options.topic or options.topic_id) and not topics and not options.if_exists:
        what = f"TopicId '{options.topic_id}'" if options.topic_id else f"Topic '{options.topic}'"
        raise ToolError(f"Error while executing topic command : {what} does not exist as expected")
    names = [topic.name or "" for topic in topics]
    state = read_replicas(client, names) if names else {}
    chosen = [fits for option, fits in _OF_PARTITIONS.items() if getattr(options, option.replace("-", "_"))]
    for topic in topics:
        name = topic.name or ""
        settings = _settings(client, name)
        if chosen:
            least = next((int(item.value or 1) for item in settings if item.name == _MIN_ISR), 1)
            some = {n: each for n, each in state[name].items() if any(fits(each, least) for fits in chosen)}
            for cells in _partitions(name, some):
                print_cells(*cells)
        else:
            _print(topic, _overrides(settings), state[name], options)


def _print(
    topic: MetadataResponseTopic, overrides: str, state: dict[int, Replicas], options: argparse.Namespace
) -> None:
    if options.topics_with_overrides and not overrides:
        return
    copies = max((len(each.replicas) for each in state.values()), default=0)
    print_cells(
        *(f"Topic: {topic.name}", f"TopicId: {uuid_to_str(topic.topic_id)}", f"PartitionCount: {len(state)}"),
        *(f"ReplicationFactor: {copies}", f"Configs: {overrides}"),
    )
    if not options.topics_with_overrides:
        for cells in _partitions(topic.name or "", state):
            print_cells(*cells)


def _partitions(name: str, state: dict[int, Replicas]) -> Iterator[tuple[str, ...]]:
    for number, each in sorted(state.items()):
        leader = "none" if each.leader < 0 else each.leader
        yield (
            *("", f"Topic: {name}", f"Partition: {number}", f"Leader: {leader}", f"Replicas: {_joined(each.replicas)}"),
            *(f"Isr: {_joined(each.isr)}", f"Elr: {_joined(each.elr)}"),
            f"LastKnownElr: {_joined(each.last_known_elr)}",
        )


def _joined(ids: Iterable[int] | None) -> str:
    return "N/A" if ids is None else ",".join(map(str, ids))


def _settings(client: Client, name: str) -> list[DescribeConfigsResourceResult]:
    resource = DescribeConfigsResource(resource_type=_TOPIC, resource_name=name, configuration_keys=None)
    (answer,) = client.any().call(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse).results
    raise_for(answer.error_code, answer.error_message)
    return answer.configs


def _overrides(settings: list[DescribeConfigsResourceResult]) -> str:
    """Return settings that are not defaults: the topic's own, and dynamic ones of brokers."""
    own = [item for item in settings if item.config_source != _DEFAULT]
    return ",".join(sorted(f"{item.name}={item.value}" for item in own))


def _alter(client: Client, options: argparse.Namespace) -> None:
    if options.partitions is None:
        raise ToolError("--alter needs --partitions N; settings are altered by kafka-configs.")
    growth = CreatePartitionsTopic(name=options.topic, count=options.partitions, assignments=None)
    request = CreatePartitionsRequest(topics=[growth], timeout_ms=_TIMEOUT_MS)
    (answer,) = client.controller().call(request, CreatePartitionsResponse).results
    if answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and options.if_exists:
        return
    raise_for(answer.error_code, answer.error_message)


def _delete(client: Client, options: argparse.Namespace) -> None:
    names = [topic.name or "" for topic in _found(client, options)]
    if not names and not options.if_exists:
        raise ToolError(f"Error while executing topic command : Topic '{options.topic}' does not exist as expected")
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names], timeout_ms=_TIMEOUT_MS)
    for answer in client.controller().call(request, DeleteTopicsResponse).responses:
        if answer.error_code:
            raise KafkaError(error_code(answer.error_code), answer.error_message or None)
