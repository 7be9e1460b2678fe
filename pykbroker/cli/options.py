"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from pykbroker.cli.client import Client, parse_bootstrap

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        "-b",
        metavar="HOST:PORT,...",
        envvar="PYKBROKER_BOOTSTRAP",
        help="A broker of the cluster, or several.",
        rich_help_panel="Connection",
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        help="How long to wait for an answer, and for troubles that pass by themselves.",
        rich_help_panel="Connection",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

BOOTSTRAP = "127.0.0.1:9092"
TIMEOUT = 30.0


def connect(bootstrap: str, timeout: float) -> Client:
    """The client that the shared options describe."""
    return Client(parse_bootstrap(bootstrap), timeout_s=timeout)


def name_and_value(text: str) -> tuple[str, str]:
    """Split ``name=value``. Raises typer.BadParameter."""
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE")
    return name.strip(), value
