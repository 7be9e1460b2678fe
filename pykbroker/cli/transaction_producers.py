"""``pykbroker transactions producers``: the active producers of partitions, and their open transactions."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from pykbroker.cli.completion import topic_names
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.cli.times import format_ms
from pykbroker.client.errors import ClientError, UsageError, refusal
from pykbroker.client.offsets import TopicPartition
from pykbroker.client.transaction_state import active_producers
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.describe_producers import ProducerState

_NO_TRANSACTION = -1


@with_option_values
def producers(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", autocompletion=topic_names)],
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", min=0, help="Only this partition; may be repeated.")
    ] = None,
    only_open: Annotated[bool, typer.Option("--open", help="Only those with an open transaction.")] = False,
) -> None:
    """Show the active producers of a topic's partitions; --open finds what holds back the last stable offset."""
    out = Output(as_json=as_json)
    rows: list[dict[str, Any]] = []
    with at.connect() as client:
        try:
            known = sorted(p.partition_index for p in client.topic(topic).partitions)
            if missing := set(partition or []) - set(known):
                raise UsageError(f"Topic {topic} has no partition {', '.join(map(str, sorted(missing)))}.")
            for index in sorted(set(partition or known)):
                found = client.retrying(partial(active_producers, client, TopicPartition(topic, index)))
                rows += [_row(index, producer) for producer in found]
        except KafkaError as error:
            raise ClientError(refusal(f"Topic {topic}", error)) from error
    if only_open:
        rows = [row for row in rows if row["open_since"] is not None]
    if as_json:
        out.json(rows)
    elif rows:
        columns = {
            "partition": "PARTITION",
            "producer": "PRODUCER ID",
            "epoch": "EPOCH",
            "sequence": "SEQUENCE",
            "time": "LAST WROTE",
            "open_since": "OPEN SINCE OFFSET",
        }
        out.table(columns, rows)
    else:
        out.remark("No transaction is open there." if only_open else "The partitions remember no producer.")


def _row(index: int, producer: ProducerState) -> dict[str, Any]:
    since = producer.current_txn_start_offset
    return {
        "partition": index,
        "producer": producer.producer_id,
        "epoch": producer.producer_epoch,
        "sequence": producer.last_sequence,
        "timestamp": producer.last_timestamp,
        "time": format_ms(producer.last_timestamp),
        "coordinator_epoch": producer.coordinator_epoch,
        "open_since": None if since == _NO_TRANSACTION else since,
    }
