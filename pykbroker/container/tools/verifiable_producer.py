"""``kafka-verifiable-producer``: sends numbers and says of each, as JSON, what became of it."""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count, cycle, islice
from typing import Final

from pykbroker.cli.signals import ends_are_noted
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError
from pykbroker.client.offsets import TopicPartition
from pykbroker.client.producer import Producer
from pykbroker.container.tools.events import Events
from pykbroker.container.tools.exceptions import exception_class
from pykbroker.container.tools.running import Options, ToolError, connect
from pykbroker.seeding.partitioner import Partitioner
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.records import Record

#: Records that go at once, and the longest time that a rate is kept by.
_MOST: Final = 500
_LONGEST_S: Final = 0.1


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    if not options.topic:
        raise ToolError("argument --topic is required")
    events = Events()
    with connect(options) as client, ends_are_noted() as ended:
        events.tell("startup_complete")
        sending = _Sending(client, options, events)
        begin = client.clock.monotonic()
        try:
            sending.run(ended)
        finally:
            events.tell("shutdown_complete")
            took = max(client.clock.monotonic() - begin, 0.001)
            events.tell(
                "tool_data", sent=sending.sent, acked=sending.acked, target_throughput=options.throughput,
                avg_throughput=sending.acked / took,
            )  # fmt: skip


def _options() -> Options:
    made = Options("kafka-verifiable-producer", "Send numbers, and say of each what became of it.")
    made.connecting("--command-config", "--producer.config")
    made.add_argument("--topic", metavar="NAME")
    made.add_argument("--max-messages", metavar="N", type=int, default=-1, help="-1 for no end")
    made.add_argument("--throughput", metavar="N", type=int, default=-1, help="records a second at most")
    made.add_argument("--acks", type=int, choices=(0, 1, -1), default=-1)
    made.add_argument("--message-create-time", metavar="MS", type=int, default=-1, help="of the first record")
    made.add_argument("--value-prefix", metavar="N", type=int, help="before each value, and a dot")
    made.add_argument("--repeating-keys", metavar="N", type=int, help="keys from 0 on, and at this number again from 0")
    return made


class _Sending:
    """What is sent, and how much of it was written."""

    def __init__(self, client: Client, options: argparse.Namespace, events: Events) -> None:
        self.sent = self.acked = 0
        self._client, self._options, self._events = client, options, events
        self._producer = Producer(client, acks=options.acks)
        self._partitioner = Partitioner(len(client.topic(options.topic, create=True).partitions))
        self._first_ms = client.clock.now_ms()

    def run(self, ended: Callable[[], bool]) -> None:
        rate, limit = self._options.throughput, self._options.max_messages
        most = max(min(int(rate * _LONGEST_S), _MOST), 1) if rate > 0 else _MOST
        records = self._records() if limit < 0 else islice(self._records(), limit)
        begin = self._client.clock.monotonic()
        while not ended() and (some := list(islice(records, most))):
            self._send(some)
            if rate > 0:
                time.sleep(max(begin + self.sent / rate - self._client.clock.monotonic(), 0))

    def _records(self) -> Iterator[Record]:
        prefix = "" if self._options.value_prefix is None else f"{self._options.value_prefix}."
        repeated = self._options.repeating_keys
        keys = cycle([None] if repeated is None else [b"%d" % number for number in range(max(repeated, 1))])
        for number, key in zip(count(), keys, strict=False):
            now_ms, created_ms = self._client.clock.now_ms(), self._options.message_create_time
            timestamp = now_ms if created_ms < 0 else created_ms + now_ms - self._first_ms
            yield Record(timestamp=timestamp, key=key, value=f"{prefix}{number}".encode())

    def _send(self, records: list[Record]) -> None:
        by_partition: dict[int, list[Record]] = defaultdict(list)
        for record in records:
            by_partition[self._partitioner.choose(None if record.key is None else bytes(record.key))].append(record)
        self._partitioner.next_batch()
        for number, some in by_partition.items():
            self.sent += len(some)
            try:
                base = self._producer.send(TopicPartition(self._options.topic, number), some)
            except (KafkaError, ClientError) as error:
                for record in some:
                    self._refused(record, error)
                continue
            self.acked += len(some)
            for place, record in enumerate(some):
                offset = -1 if base < 0 else base + place
                self._events.tell("producer_send_success", **_about(record), offset=offset, partition=number,
                                  topic=self._options.topic)  # fmt: skip

    def _refused(self, record: Record, error: KafkaError | ClientError) -> None:
        name = exception_class(error.code) if isinstance(error, KafkaError) else type(error).__name__
        self._events.tell("producer_send_error", **_about(record), topic=self._options.topic,
                          exception=f"class {name}", message=error.message)  # fmt: skip


def _about(record: Record) -> dict[str, str | None]:
    return {
        name: None if data is None else bytes(data).decode()
        for name, data in (("key", record.key), ("value", record.value))
    }
