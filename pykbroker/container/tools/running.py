"""Runs a command: its options, its client, and its error messages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from pykbroker.cli.command_config import read, security_of
from pykbroker.cli.output import OutputClosed
from pykbroker.client.client import Client, parse_bootstrap
from pykbroker.client.errors import EXIT_FAILED, EXIT_INTERRUPTED, ClientError
from pykbroker.container.tools.printing import print_error
from pykbroker.wire.errors import KafkaError, WireError

_TIMEOUT_S = 60.0
#: Options of earlier releases of Kafka, and what to use instead.
_GONE = {
    "--zookeeper": "There is no ZooKeeper: --bootstrap-server HOST:PORT names the brokers.",
    "--broker-list": "--bootstrap-server HOST:PORT has taken its place.",
    "--new-consumer": "It can be left out: there is no other consumer.",
    "--whitelist": "--include REGEX has taken its place.",
    "--blacklist": "There are only patterns of what is wanted: --include REGEX.",
}


class ToolError(Exception):
    """Ends the command with a message."""


class Options(argparse.ArgumentParser):
    """Kafka's options: ``--name VALUE`` or ``--name=VALUE``, never abbreviated; an unknown one is refused."""

    def __init__(self, prog: str, description: str, **inherited: Any) -> None:
        """What is ``inherited`` argparse gives to commands of a command, from Python 3.14 on."""
        super().__init__(prog, description=description, allow_abbrev=False, add_help=False, **inherited)
        self.add_argument("--help", "-h", action="help", help="print this")
        self.add_argument(
            "--version", action="version", version="4.4.0 (pykbroker)", help="the Kafka that this stands for"
        )

    def connecting(self, *config: str, also: Sequence[str] = ("--broker-list",)) -> None:
        """Add the connection options. ``config`` are names of the option for a properties file, the usual one first.

        ``also`` are older names of --bootstrap-server.
        """
        self.add_argument("--bootstrap-server", *also, metavar="HOST:PORT,...", help="brokers of the cluster")
        for name in config or ("--command-config",):
            self.add_argument(
                name, dest="command_config", metavar="FILE", help="how to connect: Kafka's client properties"
            )

    def flags(self, *names: str) -> None:
        """Add options without a value."""
        for name in names:
            self.add_argument(f"--{name}", action="store_true")

    def commands(self) -> argparse._SubParsersAction[Options]:
        """Add subcommands, which follow the common options."""
        return self.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Options)

    def error(self, message: str) -> NoReturn:
        message += "".join(f"\n{words}" for name, words in _GONE.items() if name in message.split())
        known = sorted(name for action in self._actions for name in action.option_strings if name.startswith("--"))
        raise ToolError(f"{message}\nIt takes {', '.join(known)}.")


def connect(options: argparse.Namespace) -> Client:
    """Return the client that the options describe. Raises ToolError."""
    return connect_by(settings(options.command_config), options.bootstrap_server)


def connect_by(given: Mapping[str, str], bootstrap: str | None) -> Client:
    """Return the client for Kafka's client properties. Raises ToolError."""
    if not bootstrap:
        raise ToolError("--bootstrap-server HOST:PORT is missing.")
    return Client(parse_bootstrap(bootstrap), timeout_s=_TIMEOUT_S, security=security_of(given))


def settings(path: str | None) -> dict[str, str]:
    """Return the properties of a file. Raises UsageError."""
    return read(None if path is None else Path(path))


def name_and_value(text: str) -> tuple[str, str]:
    """Parse ``name=value``. Raises ToolError."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ToolError(f"{text!r} is not NAME=VALUE.")
    return name.strip(), value


def exactly_one(options: argparse.Namespace, actions: Sequence[str]) -> str:
    """Return the only given option of several actions. Raises ToolError."""
    asked = [name for name in actions if getattr(options, name.replace("-", "_"))]
    if len(asked) != 1:
        raise ToolError(f"Command must include exactly one action: {', '.join(f'--{name}' for name in actions)}.")
    return asked[0]


def run(name: str, main: Callable[[list[str]], None], words: list[str]) -> int:
    """Run a command; returns the exit status."""
    try:
        main(words)
        sys.stdout.flush()
    except (OutputClosed, BrokenPipeError):
        sys.stdout = open("/dev/null", "w")  # noqa: PTH123, SIM115 - stays open for the interpreter's last flush
    except (ToolError, ClientError, KafkaError, WireError, OSError) as error:
        print_error(f"{name}: {getattr(error, 'message', None) or error}")
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except SystemExit as end:  # of --help and --version
        return int(end.code or 0)
    return 0
