"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from pykbroker.cli import command_config as config_file
from pykbroker.client.client import Client, parse_bootstrap

Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        "--bootstrap-server",  # the name in Kafka's commands
        "-b",
        metavar="HOST:PORT,...",
        envvar="PYKBROKER_BOOTSTRAP",
        help="A broker of the cluster, or several; else those of --command-config, else 127.0.0.1:9092.",
        rich_help_panel="Connection",
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        help="How long to wait for a response, and to retry retriable errors.",
        rich_help_panel="Connection",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        envvar="PYKBROKER_COMMAND_CONFIG",
        help="How to connect and as whom: Kafka's client properties.",
        rich_help_panel="Connection",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

BOOTSTRAP = None
TIMEOUT = 30.0
_LOCAL = "127.0.0.1:9092"


@dataclass(frozen=True)
class ConnectionOptions:
    """Where the cluster is, and as whom to connect, for commands with ``with_option_values``."""

    bootstrap: Bootstrap = BOOTSTRAP
    timeout: Timeout = TIMEOUT
    command_config: CommandConfig = None

    def connect(self) -> Client:
        """Return a client. Raises UsageError."""
        settings = config_file.read(self.command_config)
        config_file.warn_of_unknown(settings)
        return connect_by(settings, address(self.bootstrap, settings), self.timeout)


def connect_by(settings: Mapping[str, str], bootstrap: str, timeout: float) -> Client:
    """Return a client with these client properties."""
    return Client(parse_bootstrap(bootstrap), timeout_s=timeout, security=config_file.security_of(settings))


def address(bootstrap: str | None, settings: Mapping[str, str]) -> str:
    """Return the bootstrap servers: of the option, of the file, or 127.0.0.1:9092."""
    return bootstrap or settings.get("bootstrap.servers") or _LOCAL


def name_and_value(text: str) -> tuple[str, str]:
    """Split ``name=value``. Raises typer.BadParameter."""
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE")
    return name.strip(), value
