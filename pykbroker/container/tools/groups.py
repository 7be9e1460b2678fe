"""``kafka-groups``: the groups of all types."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Final

from pykbroker.client.group_state import find_groups, kind_of
from pykbroker.container.tools.columns import print_columns
from pykbroker.container.tools.running import Options, ToolError, connect, exactly_one
from pykbroker.wire.messages.list_groups import ListedGroup

_TYPES: Final = ("classic", "consumer", "share", "streams")
#: The consumer protocol type, and groups without one, which only commit offsets.
_OF_CONSUMERS: Final = ("consumer", "")


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    exactly_one(options, ["list"])
    if options.group_type is not None and options.group_type.lower() not in _TYPES:
        raise ToolError(f"--group-type is one of {', '.join(_TYPES)}.")
    with connect(options) as client:
        found = {each.group_id: each for node in client.nodes() for each in client.retrying(partial(find_groups, node))}
    rows = [(each.group_id, kind_of(each), each.protocol_type) for each in found.values() if _fits(each, options)]
    print_columns(("GROUP", "TYPE", "PROTOCOL"), rows)


def _options() -> Options:
    made = Options("kafka-groups", "List the groups of all types.")
    made.connecting(also=())
    made.flags("list", "consumer", "share", "streams")
    made.add_argument("--group-type", metavar="TYPE", help=f"one of {', '.join(_TYPES)}")
    made.add_argument("--protocol", metavar="NAME", help="those of this protocol alone")
    return made


def _fits(group: ListedGroup, options: argparse.Namespace) -> bool:
    kind = kind_of(group).lower()
    if options.consumer and not (kind == "consumer" or (kind == "classic" and group.protocol_type in _OF_CONSUMERS)):
        return False
    if any(getattr(options, name) and kind != name for name in ("share", "streams")):
        return False
    if options.group_type is not None and kind != options.group_type.lower():
        return False
    return options.protocol is None or group.protocol_type == options.protocol
