#!/usr/local/bin/python3 -P
"""``nc -z HOST PORT``: whether somebody listens there, for checks of health. It carries no bytes."""

from __future__ import annotations

import argparse
import socket
import sys
from collections.abc import Iterator
from typing import Final

from pykbroker.container.tools.printing import print_error
from pykbroker.container.tools.running import Options, ToolError, run

_PATIENCE_S: Final = 10.0
_PORTS: Final = range(1, 65536)


def main(words: list[str]) -> None:
    made = Options("nc", "Say by the exit status whether ports of a host accept connections.")
    made.add_argument("-z", action="store_true", required=False, help="connect and send nothing: all that this can")
    made.add_argument("-v", action="count", help="say it in words, too")
    made.add_argument("-n", action="store_true", help="has no effect")
    made.add_argument("-w", metavar="SECONDS", type=float, default=_PATIENCE_S, help="for each port")
    made.add_argument("-4", dest="family", action="store_const", const=socket.AF_INET, default=socket.AF_UNSPEC)
    made.add_argument("-6", dest="family", action="store_const", const=socket.AF_INET6)
    made.add_argument("host")
    made.add_argument("ports", metavar="PORT", nargs="+", help="also as FIRST-LAST")
    options = made.parse_args(words)
    if not options.z:
        raise ToolError(
            "only -z is there, which looks whether a port is open; bytes are carried by bash's /dev/tcp/HOST/PORT."
        )
    answers = [_is_open(options, port) for text in options.ports for port in _ports(text)]
    if not any(answers):
        sys.exit(1)


def _ports(text: str) -> Iterator[int]:
    """Raises ToolError."""
    first, _, last = text.partition("-")
    try:
        found = range(int(first), int(last or first) + 1)
    except ValueError:
        found = range(0)
    if not found or found[0] not in _PORTS or found[-1] not in _PORTS:
        raise ToolError(f"{text!r} is not a port.")
    yield from found


def _is_open(options: argparse.Namespace, port: int) -> bool:
    fault: OSError | None = None
    try:
        places = socket.getaddrinfo(options.host, port, options.family, socket.SOCK_STREAM)
    except OSError as error:
        places, fault = [], error
    for family, kind, protocol, _, address in places:
        with socket.socket(family, kind, protocol) as connection:
            connection.settimeout(options.w)
            try:
                connection.connect(address)
            except OSError as error:
                fault = error
                continue
        if options.v:
            print_error(f"Connection to {options.host} {port} port [tcp/*] succeeded!")
        return True
    if options.v:
        print_error(f"nc: connect to {options.host} port {port} (tcp) failed: {fault}")
    return False


if __name__ == "__main__":
    sys.exit(run("nc", main, sys.argv[1:]))
