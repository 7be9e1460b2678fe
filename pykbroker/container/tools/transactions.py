"""``kafka-transactions``: lists and describes transactions, finds and ends hanging ones (KIP-664)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from pykbroker.client.client import TRANSACTION, Client
from pykbroker.client.offsets import TopicPartition
from pykbroker.client.transaction_end import fence, write_abort_marker
from pykbroker.client.transaction_state import (
    ANY_DURATION,
    active_producers,
    described_transaction,
    listed_transactions,
)
from pykbroker.container.tools.columns import print_columns
from pykbroker.container.tools.hanging_transactions import find_hanging
from pykbroker.container.tools.running import Options, ToolError, connect
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.list_transactions import ListTransactionsRequest

_NONE = -1


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    if options.command == "find-hanging" and options.topic is None:
        _check_search(options)
    with connect(options) as client:
        _COMMANDS[options.command](client, options)


def _options() -> Options:
    made = Options("kafka-transactions", "List and describe transactions, find those that hang, and end them.")
    made.connecting(also=())
    commands = made.commands()
    listing = commands.add_parser("list", description="List transactions.")
    listing.add_argument("--duration-filter", metavar="MS", type=int, help="those that take longer alone")
    listing.add_argument("--transactional-id-pattern", metavar="REGEX")
    describe = commands.add_parser("describe", description="Describe the transaction of a transactional id.")
    describe.add_argument("--transactional-id", metavar="ID", required=True)
    producers = commands.add_parser("describe-producers", description="Describe who writes to a partition.")
    producers.add_argument("--broker-id", metavar="ID", type=int, help="as this replica knows them")
    _naming_a_partition(producers)
    abort = commands.add_parser("abort", description="End a transaction that hangs in a partition.")
    _naming_a_partition(abort)
    abort.add_argument("--start-offset", metavar="N", type=int, help="where it begins")
    for name in ("producer-id", "producer-epoch", "coordinator-epoch"):
        abort.add_argument(f"--{name}", metavar="N", type=int, help="in its place, for brokers before 3.0")
    hanging = commands.add_parser("find-hanging", description="Find hanging transactions.")
    hanging.add_argument("--broker-id", metavar="ID", type=int, help="where this broker has a replica")
    hanging.add_argument("--max-transaction-timeout", metavar="MINUTES", type=int, default=15)
    hanging.add_argument("--topic", metavar="NAME")
    hanging.add_argument("--partition", metavar="N", type=int)
    force = commands.add_parser(
        "forceTerminateTransaction", description="Abort an id's transaction, and fence its producer."
    )
    force.add_argument("--transactionalId", metavar="ID", required=True, dest="transactional_id")
    return made


def _naming_a_partition(made: Options) -> None:
    made.add_argument("--topic", metavar="NAME", required=True)
    made.add_argument("--partition", metavar="N", type=int, required=True)


def _check_search(options: argparse.Namespace) -> None:
    if options.broker_id is None:
        raise ToolError(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
        )
    if options.partition is not None:
        raise ToolError("The --partition argument requires --topic to be provided")


def _list(client: Client, options: argparse.Namespace) -> None:
    request = ListTransactionsRequest(
        duration_filter=ANY_DURATION if options.duration_filter is None else options.duration_filter,
        transactional_id_pattern=options.transactional_id_pattern,
    )
    rows = [
        (each.transactional_id, node, each.producer_id, each.transaction_state)
        for node in client.node_ids()
        for each in client.retrying(partial(listed_transactions, client.node(node), request))
    ]
    print_columns(("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), rows)


def _describe(client: Client, options: argparse.Namespace) -> None:
    name = options.transactional_id
    with _telling(f"Failed to describe transaction state of transactional-id `{name}`"):
        found = described_transaction(client, name)
    coordinator = client.node_id(client.coordinator(name, TRANSACTION).address)
    started = found.transaction_start_time_ms
    open_since = ("None", "None") if started < 0 else (str(started), str(client.clock.now_ms() - started))
    partitions = ",".join(f"{topic.topic}-{index}" for topic in found.topics for index in topic.partitions)
    print_columns(
        ("CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs",
         "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions"),
        [(coordinator, name, found.producer_id, found.producer_epoch, found.transaction_state,
          found.transaction_timeout_ms, *open_since, partitions)],
    )  # fmt: skip


def _describe_producers(client: Client, options: argparse.Namespace) -> None:
    partition = TopicPartition(options.topic, options.partition)
    where = "leader" if options.broker_id is None else f"broker {options.broker_id}"
    with _telling(f"Failed to describe producers for partition {partition} on {where}"):
        found = client.retrying(partial(active_producers, client, partition, options.broker_id))
    rows = [
        (
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp,
            "None" if each.current_txn_start_offset == _NONE else each.current_txn_start_offset,
        )
        for each in found
    ]
    print_columns(
        ("ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp",
         "CurrentTransactionStartOffset"), rows,
    )  # fmt: skip


def _abort(client: Client, options: argparse.Namespace) -> None:
    partition = TopicPartition(options.topic, options.partition)
    if options.start_offset is not None:
        who = _who_began(client, partition, options.start_offset)
    elif options.producer_id is None:
        raise ToolError(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or with "
            "--producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    else:
        who = (options.producer_id, options.producer_epoch, options.coordinator_epoch)
        for name, number in zip(("producer-epoch", "coordinator-epoch"), who[1:], strict=True):
            if number is None:
                raise ToolError(f"Missing required argument --{name}")
    with _telling(f"Failed to abort the transaction of producer {who[0]} in {partition}"):
        write_abort_marker(client, partition, *who)


def _who_began(client: Client, partition: TopicPartition, offset: int) -> tuple[int, int, int]:
    with _telling(f"Failed to validate producer state for partition {partition}"):
        found = client.retrying(partial(active_producers, client, partition))
    for each in found:
        if each.current_txn_start_offset == offset:
            return each.producer_id, each.producer_epoch, each.coordinator_epoch
    raise ToolError(f"Could not find any open transactions starting at offset {offset} on partition {partition}")


def _find_hanging(client: Client, options: argparse.Namespace) -> None:
    now_ms = client.clock.now_ms()
    found = find_hanging(
        client,
        topic=options.topic,
        partition=options.partition,
        broker=options.broker_id,
        before_ms=now_ms - options.max_transaction_timeout * 60_000,
    )
    rows = [
        (
            *partition,
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.current_txn_start_offset,
            each.last_timestamp,
            (now_ms - each.last_timestamp) // 60_000,
        )
        for partition, each in found
    ]
    print_columns(
        ("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp",
         "Duration(min)"), rows,
    )  # fmt: skip


def _force(client: Client, options: argparse.Namespace) -> None:
    with _telling(f"Failed to force terminate transactionalId `{options.transactional_id}`"):
        fence(client, options.transactional_id)


@contextmanager
def _telling(what: str) -> Iterator[None]:
    """Turn errors of requests into ToolError, with Kafka's message."""
    try:
        yield
    except KafkaError as error:
        raise ToolError(f"{what}: {error.message}") from error


_COMMANDS = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "abort": _abort,
    "find-hanging": _find_hanging,
    "forceTerminateTransaction": _force,
}
