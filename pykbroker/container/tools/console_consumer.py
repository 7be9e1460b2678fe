"""``kafka-console-consumer``: print the records of a topic."""

from __future__ import annotations

import argparse
import re
from contextlib import closing
from typing import Final

from pykbroker.cli.output import flush, write_bytes
from pykbroker.cli.signals import Ended, all_end_as_ctrl_c
from pykbroker.client.client import Client
from pykbroker.client.fetcher import Fetched, Fetcher
from pykbroker.client.membership import GroupMembership
from pykbroker.client.offsets import EARLIEST, LATEST, TopicPartition, committed_offsets, list_offsets
from pykbroker.container.tools.console_format import Form
from pykbroker.container.tools.printing import print_error
from pykbroker.container.tools.running import Options, ToolError, connect, name_and_value, settings

_POLL_S: Final = 0.5


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    if bool(options.topic) == bool(options.include):
        raise ToolError("Exactly one of --topic NAME and --include REGEX is required.")
    if options.offset is not None and options.partition is None:
        raise ToolError("--offset needs --partition N.")
    given = settings(options.command_config) | dict(map(name_and_value, options.consumer_property))
    form = Form(dict(map(name_and_value, options.property)))
    with connect(options) as client:
        printing = Printing(client, options, form, given)
        try:
            with all_end_as_ctrl_c():
                printing.run()
        except (KeyboardInterrupt, Ended):
            pass
        finally:
            printing.finish()


def _options() -> Options:
    made = Options("kafka-console-consumer", "Print the records of a topic.")
    made.connecting("--consumer.config", "--command-config")
    made.add_argument("--topic", metavar="NAME")
    made.add_argument("--include", "--whitelist", metavar="REGEX", help="topics by a regular expression")
    made.add_argument("--group", metavar="NAME", help="join this group, and commit what was printed")
    made.add_argument("--partition", metavar="N", type=int)
    made.add_argument("--offset", metavar="N", help="a number, earliest or latest; with --partition")
    made.add_argument("--from-beginning", action="store_true")
    made.add_argument("--max-messages", metavar="N", type=int)
    made.add_argument("--timeout-ms", metavar="MS", type=int, help="end when nothing came for so long")
    made.add_argument("--isolation-level", choices=("read_committed", "read_uncommitted"))
    made.add_argument("--property", "--formatter-property", metavar="NAME=VALUE", action="append", default=[],
                      help=f"what is printed: {', '.join(Form.PROPERTIES)}")  # fmt: skip
    made.add_argument("--consumer-property", "--command-property", metavar="NAME=VALUE", action="append", default=[],
                      help="group.id, auto.offset.reset and isolation.level count")  # fmt: skip
    made.add_argument("--skip-message-on-error", action="store_true", help="has no effect: no record is an error")
    made.add_argument("--enable-systest-events", action="store_true", help=argparse.SUPPRESS)
    for name in ("formatter", "formatter-config", "key-deserializer", "value-deserializer"):
        made.add_argument(f"--{name}", metavar="VALUE", help="strings are printed, whatever class of Java is named")
    return made


class Printing:
    """One run of the command."""

    def __init__(self, client: Client, options: argparse.Namespace, form: Form, given: dict[str, str]) -> None:
        self._client, self._options, self._form = client, options, form
        isolation = options.isolation_level or given.get("isolation.level")
        self._fetcher = Fetcher(client, committed_only=isolation == "read_committed")
        group = options.group or given.get("group.id")
        self._earliest = options.from_beginning or given.get("auto.offset.reset") == "earliest"
        self._membership = (
            GroupMembership(client, group, self._topics()) if group and options.partition is None else None
        )
        self._group = group
        self.printed = 0
        self._next: dict[TopicPartition, int] = {}

    def _topics(self) -> list[str]:
        if self._options.topic:
            return [self._options.topic]
        known = [topic.name or "" for topic in self._client.metadata(None).topics]
        return [name for name in sorted(known) if re.fullmatch(self._options.include, name)]

    def run(self) -> None:
        self._assign()
        clock, patience_ms = self._client.clock, self._options.timeout_ms
        last = clock.monotonic()
        with closing(self._fetcher):
            while not self._full():
                if self._membership is not None and not self._membership.still_in():
                    self._commit()
                    self._assign()
                wait_s = (
                    _POLL_S
                    if patience_ms is None
                    else max(0.0, min(_POLL_S, last + patience_ms / 1000 - clock.monotonic()))
                )
                for fetched in self._fetcher.poll(wait_s):
                    if fetched.records:
                        last = clock.monotonic()
                    self._print(fetched)
                flush()
                if patience_ms is not None and clock.monotonic() - last >= patience_ms / 1000:
                    print_error("[no record came within --timeout-ms]")
                    return

    def finish(self) -> None:
        """Commit and leave the group, and print how many records were processed, as Kafka's command does."""
        if self._membership is not None:
            self._commit()
            self._membership.leave()
        print_error(f"Processed a total of {self.printed} messages")

    def _assign(self) -> None:
        if self._membership is not None and self._group is not None:
            partitions = self._membership.join()
            known = committed_offsets(self._client, self._group)
            new = [each for each in partitions if each not in known]
            self._fetcher.assign({each: known[each] for each in partitions if each in known} | self._begin(new))
            return
        topics = {name: self._client.topic(name, create=True) for name in self._topics()}
        wanted = [
            TopicPartition(name, each.partition_index)
            for name, topic in topics.items()
            for each in topic.partitions
            if self._options.partition in (None, each.partition_index)
        ]
        self._fetcher.assign(self._begin(wanted))

    def _begin(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        offset = self._options.offset
        if offset is not None and offset.isdecimal():
            return dict.fromkeys(partitions, int(offset))
        earliest = self._earliest if offset is None else offset == "earliest"
        return list_offsets(self._client, dict.fromkeys(partitions, EARLIEST if earliest else LATEST))

    def _full(self) -> bool:
        return self._options.max_messages is not None and self.printed >= self._options.max_messages

    def _print(self, fetched: Fetched) -> None:
        for record in fetched.records:
            if self._full():
                return
            write_bytes(self._form.line(fetched.partition, record))
            self.printed += 1
            self._next[fetched.partition] = record.offset + 1

    def _commit(self) -> None:
        if self._membership is not None and self._next:
            self._membership.commit(self._next)
            self._next = {}
