"""Brokers for a suite that starts its own: prints a line when they are ready, and stops them when standard input ends.

``python -m scripts.bench_testing_job.some_brokers pykbroker|kafka FILE PORT COUNT [--authorizer]``: they listen on as many ports from
PORT on, and their peak memory, in bytes and all together, is appended to FILE.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from compat_tests.harness.apache import ApacheBroker, ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.metadata import MetadataRequest
from scripts.bench_job.brokers import KAFKA_FLAGS
from scripts.bench_testing_job.client import peak_memory

_AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def brokers(kind: str, folder: Path, settings: Mapping[str, str], port: int, count: int) -> list[BrokerProcess]:
    """Start pykbroker, or Apache Kafka with the heap and the flags that its image gives it."""
    started: list[BrokerProcess]
    if kind == "pykbroker":
        started = [Pykbroker(folder / kind, dict(settings), brokers=count)]
    else:
        first = ApacheKafka(folder / kind, dict(settings), flags=KAFKA_FLAGS)
        started = [first]
        for node in range(2, count + 1):
            other = ApacheBroker(folder / f"{kind}{node}", first, node, dict(settings))
            other.flags = KAFKA_FLAGS
            started.append(other)
    for place, each in enumerate(started):
        if port:
            each.host, each.port = "localhost", port + place  # as Debezium's say it, which some tests compare
        each.start()
    for each in started:
        _await_all(each, count)
    return started


def _await_all(broker: BrokerProcess, count: int) -> None:
    """Until it knows all of them."""
    with closing(Connection(broker.bootstrap)) as connection:
        while len(connection.ask(MetadataRequest([]), 9).brokers) < count:  # type: ignore[attr-defined]
            pass


def main(kind: str, peaks: str, port: str, count: str, *options: str) -> None:
    with tempfile.TemporaryDirectory(prefix="some-brokers-") as made:
        settings = _AUTHORIZER if "--authorizer" in options else {}
        running = brokers(kind, Path(made), settings, int(port), int(count))
        print("ready", flush=True)
        sys.stdin.read()
        with Path(peaks).open("a") as file:
            print(sum(peak_memory(each.pid) for each in running), file=file)
        for each in reversed(running):
            each.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
