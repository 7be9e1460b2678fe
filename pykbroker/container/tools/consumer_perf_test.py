"""``kafka-consumer-perf-test``: the throughput of a consumer. This client is in Python, with one thread."""

from __future__ import annotations

import argparse
import random
import re
import sys
from contextlib import closing
from copy import copy
from datetime import datetime
from typing import Final

from pykbroker.client.client import Client
from pykbroker.container.tools.group_reader import GroupReader
from pykbroker.container.tools.perf_stats import ReadStats
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import Options, ToolError, connect_by, name_and_value, settings

_COLUMNS: Final = (
    "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, "
    "fetch.nMsg.sec"
)


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    if bool(options.topic) == bool(options.include):
        raise ToolError("Exactly one of --topic NAME and --include REGEX is required.")
    if options.num_records is None:
        raise ToolError("Missing required argument --num-records.")
    if options.reporting_interval <= 0:
        raise ToolError("Reporting interval must be greater than 0.")
    given = settings(options.command_config) | dict(map(name_and_value, options.command_property))
    if not options.hide_header:
        print_lines(f"{'time, threadId' if options.show_detailed_stats else 'start.time, end.time'}, {_COLUMNS}")
    with connect_by(given, options.bootstrap_server or given.get("bootstrap.servers")) as client:
        group = options.group or f"perf-consumer-{random.randrange(100_000)}"
        _run(client, options, group)


def _options() -> Options:
    made = Options("kafka-consumer-perf-test", "Say how fast a cluster gives records to this client.")
    made.connecting("--command-config", "--consumer.config")
    made.add_argument("--topic", metavar="NAME")
    made.add_argument("--include", metavar="REGEX", help="topics by a regular expression")
    made.add_argument("--num-records", "--messages", dest="num_records", metavar="N", type=int)
    made.add_argument("--group", metavar="NAME", help="one of its own where none is named")
    made.add_argument("--command-property", metavar="NAME=VALUE", action="append", default=[])
    made.flags("from-latest", "show-detailed-stats", "hide-header")
    made.add_argument("--timeout", metavar="MS", type=int, default=10_000, help="end when nothing came for so long")
    made.add_argument("--reporting-interval", metavar="MS", type=int, default=5_000)
    for name in ("fetch-size", "socket-buffer-size", "threads", "num-fetch-threads"):
        made.add_argument(f"--{name}", metavar="N", help=argparse.SUPPRESS)
    return made


class PerfConsumer:
    """A group member that reads and counts."""

    def __init__(self, client: Client, group: str, topics: list[str], *, latest: bool) -> None:
        self._client = client
        self._reader = GroupReader(client, group, topics, latest=latest)
        self.stats = ReadStats()

    def join(self) -> None:
        begin = self._client.clock.monotonic()
        self._reader.join()
        self.stats.joining += self._client.clock.monotonic() - begin

    def poll(self) -> bool:
        """Whether records came."""
        if not self._reader.still_in():
            self.join()
        came = False
        for fetched in self._reader.poll():
            came = came or bool(fetched.records)
            size = sum(len(record.key or b"") + len(record.value or b"") for record in fetched.records)
            self.stats.add(len(fetched.records), size)
        return came

    def close(self) -> None:
        """Commit where it is, and leave."""
        self._reader.commit()
        self._reader.leave()


def _run(client: Client, options: argparse.Namespace, group: str) -> None:
    clock = client.clock
    begin_ms, begin = clock.now_ms(), clock.monotonic()
    with closing(PerfConsumer(client, group, _topics(client, options), latest=options.from_latest)) as reading:
        reading.join()
        last = reported = clock.monotonic()
        before = ReadStats()
        while reading.stats.records < options.num_records and clock.monotonic() - last <= options.timeout / 1000:
            came, now = reading.poll(), clock.monotonic()
            last = now if came else last
            if options.show_detailed_stats and now - reported >= options.reporting_interval / 1000:
                print_lines(f"{_time(clock.now_ms())}, 0, {reading.stats.rates(before, now - reported)}", flush=True)
                before, reported = copy(reading.stats), now
        if reading.stats.records < options.num_records:
            print_lines(
                "WARNING: Exiting before consuming the expected number of records: timeout "
                f"({options.timeout} ms) exceeded. You can use the --timeout option to increase the timeout."
            )
        if not options.show_detailed_stats:
            rates = reading.stats.rates(ReadStats(), clock.monotonic() - begin)
            print_lines(f"{_time(begin_ms)}, {_time(clock.now_ms())}, {rates}")
        sys.stdout.flush()


def _topics(client: Client, options: argparse.Namespace) -> list[str]:
    if options.topic:
        client.topic(options.topic, create=True)
        return [options.topic]
    try:
        wanted = re.compile(options.include)
    except re.error as error:
        raise ToolError(f"{options.include!r} is not a regular expression: {error}.") from error
    return [each.name or "" for each in client.metadata(None).topics if wanted.fullmatch(each.name or "")]


def _time(ms: int) -> str:
    when = datetime.fromtimestamp(ms / 1000).astimezone()
    return f"{when:%Y-%m-%d %H:%M:%S}:{ms % 1000:03}"
