#!/usr/local/bin/python3 -P
"""``cub kafka-ready`` (and ``ub``) of Confluent's images: waits until a cluster has its brokers."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from pykbroker.cli.command_config import security_of
from pykbroker.client.client import Client, parse_bootstrap
from pykbroker.client.errors import ClientError
from pykbroker.container.tools.printing import print_error
from pykbroker.container.tools.running import Options, ToolError, run, settings
from pykbroker.runtime.clock import SystemClock
from pykbroker.wire.errors import KafkaError, WireError

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock

_PAUSE_S: Final = 0.5
#: For one attempt: a broker that does not answer may be one that is about to start.
_PATIENCE_S: Final = 5.0


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    if options.command == "zk-ready":
        print_error("ZooKeeper is not needed and is not waited for: the broker keeps its metadata itself.")
        return
    given = settings(options.command_config)
    brokers = options.bootstrap_server or given.get("bootstrap.servers")
    if not brokers:
        ours = "-z names ZooKeeper, which this broker has not; " if options.zookeeper else ""
        raise ToolError(f"{ours}-b HOST:PORT is missing.")
    wait(lambda patience_s: _brokers(brokers, given, patience_s), options.expected, options.timeout)


def _options() -> Options:
    made = Options("cub", "Wait until a cluster is ready.")
    commands = made.commands()
    ready = commands.add_parser("kafka-ready", description="Wait until a cluster has so many brokers.")
    ready.add_argument("expected", metavar="BROKERS", type=int, help="at least")
    ready.add_argument("timeout", metavar="SECONDS", type=float)
    ready.add_argument(
        "-b", "--bootstrap_broker_list", "--bootstrap-servers", dest="bootstrap_server", metavar="HOST:PORT,..."
    )
    ready.add_argument(
        "-c", "--config", dest="command_config", metavar="FILE", help="how to connect: Kafka's client properties"
    )
    ready.add_argument("-z", "--zookeeper_connect", dest="zookeeper", help=argparse.SUPPRESS)
    ready.add_argument("-s", "--security_protocol", "--security-protocol", help=argparse.SUPPRESS)
    keeper = commands.add_parser("zk-ready", description="Wait for nothing: there is no ZooKeeper.")
    keeper.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    return made


def wait(
    count: Callable[[float], int],
    expected: int,
    timeout_s: float,
    clock: Clock | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Ask ``count``, which is told for how long it may, until it says ``expected`` or more. Raises ToolError."""
    clock = clock or SystemClock()
    deadline = clock.monotonic() + timeout_s
    while True:
        left = max(deadline - clock.monotonic(), _PAUSE_S)
        try:
            found = count(min(left, _PATIENCE_S))
            if found >= expected:
                return
            said = f"it has {found} brokers"
        except (ClientError, KafkaError, WireError, OSError) as error:
            said = str(getattr(error, "message", None) or error)
        if clock.monotonic() + _PAUSE_S > deadline:
            raise ToolError(f"The cluster has not had {expected} brokers for {timeout_s:g} seconds; at last, {said}")
        sleep(_PAUSE_S)


def _brokers(bootstrap: str, given: Mapping[str, str], patience_s: float) -> int:
    with Client(parse_bootstrap(bootstrap), timeout_s=patience_s, security=security_of(given)) as client:
        return len(client.metadata([]).brokers)


if __name__ == "__main__":
    sys.exit(run("cub", main, sys.argv[1:]))
