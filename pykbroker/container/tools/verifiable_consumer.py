"""``kafka-verifiable-consumer``: reads a topic as a member of a group and says, as JSON, what it is given and what comes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

from pykbroker.cli.signals import ends_are_noted
from pykbroker.client.fetcher import Fetched
from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.events import Events
from pykbroker.container.tools.group_reader import GroupReader
from pykbroker.container.tools.running import Options, ToolError, connect
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import Record

_POLICIES: Final = ("earliest", "latest")


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    for name in ("topic", "group_id"):
        if not getattr(options, name):
            raise ToolError(f"argument --{name.replace('_', '-')} is required")
    if options.group_protocol.lower() != "classic":
        raise ToolError("--group-protocol: this client speaks the classic protocol; `classic` is what can be given.")
    if options.reset_policy not in _POLICIES:
        raise ToolError(f"--reset-policy is one of {', '.join(_POLICIES)}.")
    events = Events()
    with connect(options) as client, ends_are_noted() as ended:
        events.tell("startup_complete")
        reader = GroupReader(client, options.group_id, [options.topic], latest=options.reset_policy == "latest")
        try:
            _Consuming(reader, options, events).run(ended)
            reader.leave()
        finally:
            events.tell("shutdown_complete")


def _options() -> Options:
    made = Options("kafka-verifiable-consumer", "Read a topic in a group, and say what comes.")
    made.connecting("--command-config", "--consumer.config")
    made.add_argument("--topic", metavar="NAME")
    made.add_argument("--group-id", metavar="NAME")
    made.add_argument("--max-messages", metavar="N", type=int, default=-1, help="-1 for no end")
    made.add_argument("--reset-policy", metavar="POLICY", default="earliest", help=" or ".join(_POLICIES))
    made.flags("verbose", "enable-autocommit")
    made.add_argument("--group-protocol", metavar="NAME", default="classic", help="classic")
    for name in ("session-timeout", "assignment-strategy", "group-remote-assignor"):
        made.add_argument(f"--{name}", metavar="VALUE", help="has no effect")
    return made


class _Consuming:
    """Reads until so many records have come, or something ends it."""

    def __init__(self, reader: GroupReader, options: argparse.Namespace, events: Events) -> None:
        self._reader, self._options, self._events = reader, options, events
        self._left: int | None = options.max_messages if options.max_messages >= 0 else None

    def run(self, ended: Callable[[], bool]) -> None:
        self._join()
        while not ended() and self._left != 0:
            if not self._reader.still_in():
                self._events.tell("partitions_revoked", partitions=_as_json(self._reader.assigned))
                self._join()
            found = [each for each in self._reader.poll() if each.records]
            if found:
                self._tell(found)
        self._events.tell("partitions_revoked", partitions=_as_json(self._reader.assigned))

    def _join(self) -> None:
        self._reader.join()
        self._events.tell("partitions_assigned", partitions=_as_json(self._reader.assigned))

    def _tell(self, found: list[Fetched]) -> None:
        taken = {each.partition: each.records[: self._take(len(each.records))] for each in found}
        taken = {partition: records for partition, records in taken.items() if records}
        if self._options.verbose:
            for partition, records in taken.items():
                for record in records:
                    self._events.tell("record_data", **_content(record), topic=partition.topic,
                                      partition=partition.number, offset=record.offset)  # fmt: skip
        self._events.tell(
            "records_consumed",
            count=sum(len(each.records) for each in found),
            partitions=[
                {"topic": partition.topic, "partition": partition.number, "count": len(records),
                 "minOffset": records[0].offset, "maxOffset": records[-1].offset}
                for partition, records in taken.items()
            ],
        )  # fmt: skip
        offsets = {partition: records[-1].offset + 1 for partition, records in taken.items()}
        told = [{"topic": each.topic, "partition": each.number, "offset": offset} for each, offset in offsets.items()]
        try:
            self._reader.commit(offsets)
        except KafkaError as error:
            self._events.tell("offsets_committed", offsets=told, error=error.message, success=False)
            return
        if not self._options.enable_autocommit:
            self._events.tell("offsets_committed", offsets=told, success=True)

    def _take(self, found: int) -> int:
        """How many of so many records are still wanted."""
        if self._left is None:
            return found
        taken = min(found, self._left)
        self._left -= taken
        return taken


def _as_json(partitions: list[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": each.topic, "partition": each.number} for each in partitions]


def _content(record: Record) -> dict[str, str | None]:
    return {"key": _text(record.key), "value": _text(record.value)}


def _text(data: Buffer | None) -> str | None:
    return None if data is None else bytes(data).decode("utf-8", "replace")
