"""Shell completion of names that the broker knows (topics, groups, settings): quickly, or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import typer
from typer.core import TyperCommand

from pykbroker.cli.command_config import read
from pykbroker.cli.options import address, connect_by
from pykbroker.cli.serve_options import parser as _parser
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError
from pykbroker.client.group_state import find_groups
from pykbroker.config.definitions.topics import TOPIC_SETTINGS
from pykbroker.security import operations
from pykbroker.wire.errors import KafkaError, WireError
from pykbroker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from pykbroker.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from pykbroker.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

try:
    from typer._click.shell_completion import CompletionItem
except ModuleNotFoundError:  # older Typers use the click package, newer ones include it
    from click.shell_completion import CompletionItem  # type: ignore[assignment, unused-ignore]

#: Names that no shell takes for anything but a word, nor a command for an option. Whoever may commit an offset names a group, zsh
#: evaluates what Typer's script prints, and bash puts it on the line unquoted. Other names are not completed, in any shell.
_HARMLESS: Final = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.:@+,=/-]*")
_PATIENCE_S = 1.0  # somebody waits at the keyboard
#: Kinds that `configs` takes, to Kafka's resource types.
_RESOURCE_TYPES: Final = {"topic": 2, "broker": 4, "broker-logger": 8, "client-metrics": 16, "group": 32}


def topic_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete topics; with nothing if no broker answers."""
    return _names(ctx, incomplete, lambda client: [topic.name or "" for topic in client.metadata(None).topics])


def group_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete groups; with nothing if no broker answers."""
    return _names(ctx, incomplete, lambda client: [g.group_id for node in client.nodes() for g in find_groups(node)])


def transactional_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete transactional ids."""

    def ask(client: Client) -> list[str]:
        answers = [node.call(ListTransactionsRequest(), ListTransactionsResponse) for node in client.nodes()]
        return [each.transactional_id for answer in answers for each in answer.transaction_states]

    return _names(ctx, incomplete, ask)


def user_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete users with SCRAM credentials."""

    def ask(client: Client) -> list[str]:
        request = DescribeUserScramCredentialsRequest(users=None)
        return [each.user for each in client.any().call(request, DescribeUserScramCredentialsResponse).results]

    return _names(ctx, incomplete, ask)


def broker_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete broker ids."""
    return _names(ctx, incomplete, lambda client: [str(node_id) for node_id in client.node_ids()])


def resource_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete names of resources of the kind that precedes them on the line."""
    by_kind = {"topic": topic_names, "group": group_names, "broker": broker_ids, "broker-logger": broker_ids}
    named = by_kind.get(str(ctx.params.get("kind")))
    return [] if named is None else named(ctx, incomplete)


def setting_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete settings of the resource on the line."""
    kind, name = _resource(ctx)
    resource = DescribeConfigsResource(_RESOURCE_TYPES.get(str(kind), 0), name or "")

    def ask(client: Client) -> list[str]:
        # Only the broker itself knows its loggers and its static settings.
        its_own = str(kind).startswith("broker") and (name or "").isdecimal()
        node = client.named_node(int(name or 0)) if its_own else client.any()
        answer = node.call(DescribeConfigsRequest([resource]), DescribeConfigsResponse)
        return [each.name for result in answer.results for each in result.configs]

    return _names(ctx, incomplete, ask)


def _resource(ctx: typer.Context) -> tuple[str | None, str | None]:
    """Return kind and name from the line; while an option lacks its value, Click has not parsed them as arguments."""
    if ctx.params.get("kind") is not None:
        return ctx.params["kind"], ctx.params.get("name")
    kind, name, *_ = *ctx.args, None, None
    return kind, name


def assigned_settings(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete settings of the resource, followed by ``=``."""
    return [f"{name}=" for name in setting_names(ctx, incomplete)]


def topic_settings(incomplete: str) -> list[str]:
    """Complete settings of topics in the newest Kafka, followed by ``=``."""
    return [f"{name}=" for name in sorted(TOPIC_SETTINGS) if name.startswith(incomplete)]


def topic_setting_names(incomplete: str) -> list[str]:
    """Complete settings of topics in the newest Kafka."""
    return [name for name in sorted(TOPIC_SETTINGS) if name.startswith(incomplete)]


def operation_names(incomplete: str) -> list[str]:
    """Complete operations of access lists."""
    names = [name.lower().replace("_", "-") for name in operations.OPERATION_NAMES[operations.ALL :]]
    return [name for name in names if name.startswith(incomplete)]


class WithOptionsOfServe(TyperCommand):
    """A command whose options argparse defines, because start-up must not import Typer (`serve_options.py`)."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete options; their values are files, which the shell completes itself."""
        known = _parser()._option_string_actions  # noqa: SLF001 - argparse has no public list of its options
        given = {
            action.dest for word, action in known.items() if word in ctx.args and not isinstance(action.default, list)
        }
        return [
            CompletionItem(word, help=action.help)
            for word, action in known.items()
            if incomplete.startswith("-") and word.startswith(incomplete) and action.dest not in given
        ]


def _names(ctx: typer.Context, incomplete: str, ask: Callable[[Client], list[str]]) -> list[str]:
    bootstrap, command_config = ctx.params.get("bootstrap"), ctx.params.get("command_config")
    try:
        settings = read(command_config)
        with connect_by(settings, address(bootstrap, settings), _PATIENCE_S) as client:
            return sorted(name for name in ask(client) if name.startswith(incomplete) and _HARMLESS.fullmatch(name))
    except (ClientError, KafkaError, WireError, OSError):
        return []  # a warning would be printed into the line being typed
