"""``kafka-reassign-partitions``: moves replicas to other brokers and log directories, by a JSON file."""

from __future__ import annotations

import argparse
import random
from collections.abc import Collection, Iterable, Mapping

from pykbroker.client.client import Client
from pykbroker.client.offsets import TopicPartition
from pykbroker.client.reassignments import alter_moves, ongoing_moves
from pykbroker.client.replica_state import Replicas, read_replicas
from pykbroker.container.tools import log_dir_moves
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.reassignment_plan import ReassignmentPlan, as_json, check_plan, read_plan, read_topics
from pykbroker.container.tools.reassignment_throttles import clear_throttles, moves, throttle_log_dirs, throttle_moves
from pykbroker.container.tools.running import Options, ToolError, connect, exactly_one
from pykbroker.controller.placement import place_partitions
from pykbroker.metadata.image import BrokerImage
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.alter_partition_reassignments import ReassignablePartitionResponse

_ACTIONS = ("generate", "execute", "verify", "cancel", "list")
_UNTHROTTLED = -1


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    action = exactly_one(options, _ACTIONS)
    if action in ("execute", "verify", "cancel") and not options.reassignment_json_file:
        raise ToolError("Missing required argument --reassignment-json-file.")
    if action == "generate" and not (options.topics_to_move_json_file and options.broker_list):
        raise ToolError("--generate needs --topics-to-move-json-file FILE and --broker-list ID,...")
    with connect(options) as client:
        {"generate": _generate, "execute": _execute, "verify": _verify, "cancel": _cancel, "list": _list}[action](
            client, options
        )


def _options() -> Options:
    made = Options("kafka-reassign-partitions", "Move replicas to other brokers and log directories.")
    made.connecting(also=())
    made.flags(*_ACTIONS)
    made.add_argument("--reassignment-json-file", metavar="FILE",
                      help='{"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "/data"]}]}')  # fmt: skip
    made.add_argument("--topics-to-move-json-file", metavar="FILE", help='{"topics": [{"topic": "t"}], "version": 1}')
    made.add_argument("--broker-list", metavar="ID,...", help="where --generate may have them")
    made.add_argument("--throttle", metavar="BYTES", type=int, default=_UNTHROTTLED, help="a second, between brokers")
    made.add_argument("--replica-alter-log-dirs-throttle", metavar="BYTES", type=int, default=_UNTHROTTLED,
                      help="a second, between log directories")  # fmt: skip
    made.add_argument("--timeout", metavar="MS", type=int, default=10_000, help="for moves of log directories to begin")
    made.flags("additional", "preserve-throttles", "disable-rack-aware")
    return made


def _generate(client: Client, options: argparse.Namespace) -> None:
    topics = read_topics(options.topics_to_move_json_file)
    current = _assigned(client, topics)
    brokers = _brokers(client, options)
    proposed = ReassignmentPlan()
    for topic in topics:
        its = {partition: replicas for partition, replicas in current.brokers.items() if partition.topic == topic}
        factor = len(next(iter(its.values())))
        found = place_partitions(brokers, len(its), factor, random.Random())
        proposed.brokers |= {TopicPartition(topic, number): replicas for number, replicas in enumerate(found)}
    print_lines("Current partition replica assignment", as_json(current), "")
    print_lines("Proposed partition reassignment configuration", as_json(proposed))


def _brokers(client: Client, options: argparse.Namespace) -> list[BrokerImage]:
    """Return the named brokers that are registered."""
    try:
        named = {int(text) for text in options.broker_list.split(",")}
    except ValueError as error:
        raise ToolError(f"--broker-list takes ids of brokers: {error}.") from error
    racks = {each.node_id: each.rack for each in client.metadata([]).brokers if each.node_id in named}
    if options.disable_rack_aware:
        racks = dict.fromkeys(racks)
    elif None in racks.values() and set(racks.values()) != {None}:
        raise ToolError(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    return [BrokerImage(node, 0, bytes(16), {}, {}, rack, fenced=False) for node, rack in sorted(racks.items())]


def _assigned(
    client: Client, topics: Iterable[str], partitions: Collection[TopicPartition] | None = None
) -> ReassignmentPlan:
    """Return the current replicas of these partitions, or of all. Raises ToolError for missing ones."""
    found = {
        TopicPartition(name, number): replicas.replicas
        for name, there in _replicas(client, topics).items()
        for number, replicas in there.items()
    }
    wanted = found.keys() if partitions is None else partitions
    if missing := sorted(set(wanted) - found.keys()):
        raise ToolError(f"Unable to find partition: {', '.join(map(str, missing))}")
    assigned = ReassignmentPlan({partition: found[partition] for partition in wanted})
    everywhere = [(node, partition) for partition, nodes in assigned.brokers.items() for node in nodes]
    there = set(client.node_ids())
    places = log_dir_moves.places(client, [replica for replica in everywhere if replica[0] in there])
    assigned.log_dirs = {replica: place.current for replica, place in places.items() if place.current is not None}
    return assigned


def _replicas(client: Client, topics: Iterable[str]) -> dict[str, dict[int, Replicas]]:
    found: dict[str, dict[int, Replicas]] = {}
    for topic in sorted(topics):
        try:
            found |= read_replicas(client, [topic])
        except KafkaError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            raise ToolError(f"Topic {topic} not found.") from error
    return found


def _execute(client: Client, options: argparse.Namespace) -> None:
    plan = read_plan(options.reassignment_json_file)
    check_plan(plan)
    ongoing = ongoing_moves(client)
    if ongoing and not options.additional:
        raise ToolError(
            "Cannot execute because there is an existing partition assignment.  Use --additional to override this and "
            "create a new partition assignment in addition to the existing one. The --additional flag can also be used to "
            "change the throttle by resubmitting the current reassignment."
        )
    _check_brokers(client, plan)
    current = _assigned(client, {partition.topic for partition in plan.brokers}, plan.brokers)
    print_lines(
        *("Current partition replica assignment", "", as_json(current), ""),
        "Save this to use as the --reassignment-json-file option during rollback",
    )
    if max(options.throttle, options.replica_alter_log_dirs_throttle) >= 0:
        print_lines(
            "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle "
            "is removed."
        )
    if options.throttle >= 0:
        throttle_moves(client, moves(plan.brokers, current.brokers, ongoing), options.throttle)
    if options.replica_alter_log_dirs_throttle >= 0:
        throttle_log_dirs(client, {node for node, _ in plan.log_dirs}, options.replica_alter_log_dirs_throttle)
    _check("Error reassigning partition(s)", alter_moves(client, plan.brokers))
    print_lines(f"Successfully started partition reassignment{_s(plan.brokers)} for {_joined(plan.brokers)}")
    if plan.log_dirs:
        log_dir_moves.move(client, plan.log_dirs, options.timeout)


def _check_brokers(client: Client, plan: ReassignmentPlan) -> None:
    there = client.node_ids()
    for replicas in plan.brokers.values():
        for node in replicas:
            if node not in there:
                raise ToolError(f"Unknown broker id {node}")


def _verify(client: Client, options: argparse.Namespace) -> None:
    plan = read_plan(options.reassignment_json_file)
    ongoing = ongoing_moves(client)
    current = {
        TopicPartition(name, number): replicas.replicas
        for name, there in read_replicas(client, {each.topic for each in plan.brokers}, may_lack=True).items()
        for number, replicas in there.items()
    }
    print_lines("Status of partition reassignment:")
    for partition, wanted in sorted(plan.brokers.items()):
        replicas = current.get(partition, [])
        if partition in ongoing:
            print_lines(f"Reassignment of partition {partition} is still in progress.")
        elif replicas == wanted:
            print_lines(f"Reassignment of partition {partition} is completed.")
        else:
            print_lines(
                f"There is no active reassignment of partition {partition}, but replica set is {_numbers(replicas)} "
                f"rather than {_numbers(wanted)}."
            )
    found = log_dir_moves.places(client, plan.log_dirs)
    print_lines(
        *(place.status(replica, plan.log_dirs[replica]) for replica, place in sorted(found.items(), key=_by_replica))
    )
    if not ongoing and all(place.future is None for place in found.values()) and not options.preserve_throttles:
        clear_throttles(client, plan.brokers)


def _cancel(client: Client, options: argparse.Namespace) -> None:
    plan = read_plan(options.reassignment_json_file)
    active = sorted(ongoing_moves(client).keys() & plan.brokers.keys())
    if active:
        answers = alter_moves(client, dict.fromkeys(active))
        _check(f"Error cancelling partition reassignment{_s(active)} for", answers)
        print_lines(f"Successfully cancelled partition reassignment{_s(active)} for: {_joined(active)}")
    else:
        print_lines("None of the specified partition reassignments are active.")
    found = log_dir_moves.places(client, plan.log_dirs)
    back = {replica: place.current for replica, place in found.items() if place.future is not None and place.current}
    if back:
        log_dir_moves.move(client, back, options.timeout)
    else:
        print_lines("None of the specified partition moves are active.")
    if not options.preserve_throttles:
        clear_throttles(client, plan.brokers)


def _list(client: Client, options: argparse.Namespace) -> None:
    del options
    ongoing = ongoing_moves(client)
    if not ongoing:
        print_lines("No partition reassignments found.")
        return
    print_lines("Current partition reassignments:")
    for partition, each in ongoing.items():
        adding = f" adding: {_numbers(each.adding_replicas)}." if each.adding_replicas else ""
        removing = f" removing: {_numbers(each.removing_replicas)}." if each.removing_replicas else ""
        print_lines(f"{partition}: replicas: {_numbers(each.replicas)}.{adding}{removing}")


def _check(complaint: str, answers: Mapping[TopicPartition, ReassignablePartitionResponse]) -> None:
    """Raises ToolError if there are errors."""
    refused = [
        f"{partition}: {KafkaError(error_code(each.error_code), each.error_message or None).message}"
        for partition, each in sorted(answers.items(), key=lambda item: item[0])
        if each.error_code
    ]
    if refused:
        raise ToolError("\n".join([f"{complaint}:", *refused]))


def _by_replica(item: tuple[tuple[int, TopicPartition], object]) -> tuple[int, TopicPartition]:
    return item[0]


def _s(items: Mapping[TopicPartition, object] | list[TopicPartition]) -> str:
    return "" if len(items) == 1 else "s"


def _joined(partitions: Iterable[TopicPartition]) -> str:
    return ",".join(map(str, sorted(partitions)))


def _numbers(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))
