"""``kafka-client-metrics``: which metrics clients are to send (KIP-714), kept as settings of subscriptions."""

from __future__ import annotations

import argparse
import uuid
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.client_metrics import alter_subscription, subscription_names, subscription_settings
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import Options, ToolError, connect, exactly_one
from pykbroker.wire.primitives import uuid_to_str

_ACTIONS: Final = ("alter", "delete", "describe", "list")
#: Options, and the settings that they are.
_SETTINGS: Final = {"interval": "interval.ms", "metrics": "metrics", "match": "match"}
_CHANGING: Final = ("generate_name", *_SETTINGS)


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    action = exactly_one(options, _ACTIONS)
    _check(options, action)
    with connect(options) as client:
        if action == "alter":
            _alter(client, options)
        elif action == "delete":
            changes = dict.fromkeys(each.name for each in subscription_settings(client, options.name))
            alter_subscription(client, options.name, changes)
            print_lines(f"Deleted client metrics config for {options.name}.")
        elif action == "list":
            print_lines(*subscription_names(client))
        else:
            for name in [options.name] if options.name is not None else subscription_names(client):
                print_lines(f"Client metrics configs for {name} are:")
                for each in subscription_settings(client, name):
                    print_lines(f"  {each.name}={each.value}")


def _options() -> Options:
    made = Options("kafka-client-metrics", "Say which metrics clients are to send.")
    made.connecting(also=())
    made.flags(*_ACTIONS, "generate-name")
    made.add_argument("--name", metavar="NAME", help="of the subscription")
    made.add_argument("--interval", metavar="MS", type=int, help="how often clients send; nothing sets it back")
    made.add_argument("--metrics", metavar="PREFIX,...", help="which metrics; nothing sets it back")
    made.add_argument("--match", metavar="NAME=PATTERN,...", help="which clients; nothing sets it back")
    return made


def _check(options: argparse.Namespace, action: str) -> None:
    """Raises ToolError."""
    if action == "alter":
        if (options.name is None) is not options.generate_name:
            raise ToolError("One of --name or --generate-name must be specified with --alter.")
        return
    if action == "delete" and options.name is None:
        raise ToolError("A client metrics resource name must be specified with --delete.")
    known = {"list": (*_CHANGING, "name")}.get(action, _CHANGING)
    if given := [name for name in known if getattr(options, name) not in (None, False)]:
        raise ToolError(f'Option "[{action}]" can\'t be used with option "[{given[0].replace("_", "-")}]"')


def _alter(client: Client, options: argparse.Namespace) -> None:
    name = uuid_to_str(uuid.uuid4().bytes) if options.generate_name else options.name
    given = {setting: getattr(options, option) for option, setting in _SETTINGS.items()}
    changes: dict[str, str | None] = {
        setting: None if value == "" else str(value) for setting, value in given.items() if value is not None
    }
    alter_subscription(client, name, changes)
    print_lines(f"Altered client metrics config for {name}.")
