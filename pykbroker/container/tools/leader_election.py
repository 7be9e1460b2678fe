"""``kafka-leader-election``: elects the preferred replica, or any replica (unclean), as leader."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.errors import raise_for
from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.exceptions import exception
from pykbroker.container.tools.json_plans import check_distinct, entries, partition_of
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import Options, ToolError, connect
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    TopicPartitions,
)

_TYPES: Final = {"preferred": 0, "unclean": 1}
_TIMEOUT_MS: Final = 30_000


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    if options.election_type is None or options.election_type.lower() not in _TYPES:
        raise ToolError("Missing required option(s): election-type, which is preferred or unclean.")
    asked = [options.topic is not None, options.path_to_json_file is not None, options.all_topic_partitions]
    if asked.count(True) != 1:
        raise ToolError(
            "One and only one of the following options is required: topic, all-topic-partitions, path-to-json-file"
        )
    if options.topic is not None and options.partition is None:
        raise ToolError("Missing required option(s): partition")
    if options.topic is None and options.partition is not None:
        raise ToolError("Option partition is only allowed if topic is used")
    partitions = _partitions(options)
    with connect(options) as client:
        _elect(client, options.election_type.lower(), partitions)


def _options() -> Options:
    made = Options("kafka-leader-election", "Have the preferred replica of partitions lead, or any at all.")
    made.connecting("--command-config", "--admin.config", also=())
    made.add_argument("--election-type", metavar="TYPE", help="preferred, or unclean for partitions without a leader")
    made.add_argument("--topic", metavar="NAME")
    made.add_argument("--partition", metavar="N", type=int)
    made.add_argument("--path-to-json-file", metavar="FILE", help='{"partitions": [{"topic": "t", "partition": 0}]}')
    made.flags("all-topic-partitions")
    return made


def _partitions(options: argparse.Namespace) -> list[TopicPartition] | None:
    """Return the partitions; None for all."""
    if options.all_topic_partitions:
        return None
    if options.topic is not None:
        return [TopicPartition(options.topic, options.partition)]
    found = [partition_of(entry) for entry in entries(options.path_to_json_file)]
    check_distinct(found, "Replica election data contains duplicate partitions")
    return found


def _elect(client: Client, kind: str, partitions: list[TopicPartition] | None) -> None:
    answer = client.controller().call(_request(kind, partitions), ElectLeadersResponse)
    raise_for(answer.error_code)
    found = {
        TopicPartition(topic.topic, each.partition_id): each
        for topic in answer.replica_election_results
        for each in topic.partition_result
    }
    elected = [partition for partition, result in found.items() if not result.error_code]
    fine = [partition for partition, result in found.items() if result.error_code == ErrorCode.ELECTION_NOT_NEEDED]
    failed = {partition: result for partition, result in found.items() if partition not in {*elected, *fine}}
    if elected:
        print_lines(f"Successfully completed leader election ({kind.upper()}) for partitions {_joined(elected)}")
    if fine:
        print_lines(f"Valid replica already elected for partitions {_joined(fine)}")
    for partition, result in failed.items():
        print_lines(f"Error completing leader election ({kind.upper()}) for partition: {partition}: {_said(result)}")
    if failed:
        raise ToolError(f"{len(failed)} replica(s) could not be elected")


def _request(kind: str, partitions: list[TopicPartition] | None) -> ElectLeadersRequest:
    request = ElectLeadersRequest(election_type=_TYPES[kind], topic_partitions=None, timeout_ms=_TIMEOUT_MS)
    if partitions is not None:
        topics: dict[str, list[int]] = defaultdict(list)
        for topic, number in partitions:
            topics[topic].append(number)
        request.topic_partitions = [TopicPartitions(topic=name, partitions=them) for name, them in topics.items()]
    return request


def _said(result: PartitionResult) -> str:
    return exception(result.error_code, result.error_message)


def _joined(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(map(str, partitions))
