"""What a shell completes beyond commands and options: names that the broker knows, quickly or not at all."""

from __future__ import annotations

from collections.abc import Callable

import typer

from pykbroker.cli.client import Client
from pykbroker.cli.command_config import read
from pykbroker.cli.group_state import find_groups
from pykbroker.cli.options import address, connect_by
from pykbroker.cli.trouble import CliError
from pykbroker.wire.errors import KafkaError, WireError

_PATIENCE_S = 1.0  # somebody waits at the keyboard


def topic_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Topics of the cluster that begin so; none where no broker answers."""
    return _names(ctx, incomplete, lambda client: [topic.name or "" for topic in client.metadata(None).topics])


def group_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Groups of the cluster that begin so; none where no broker answers."""
    return _names(ctx, incomplete, lambda client: [g.group_id for node in client.nodes() for g in find_groups(node)])


def _names(ctx: typer.Context, incomplete: str, ask: Callable[[Client], list[str]]) -> list[str]:
    bootstrap, command_config = ctx.params.get("bootstrap"), ctx.params.get("command_config")
    try:
        settings = read(command_config)
        with connect_by(settings, address(bootstrap, settings), _PATIENCE_S) as client:
            return sorted(name for name in ask(client) if name.startswith(incomplete))
    except (CliError, KafkaError, WireError, OSError):
        return []  # a remark would stand in the middle of the line being typed
