"""``kafka-share-groups`` and ``kafka-streams-groups``: lists, which any broker answers; the rest is refused in words."""

from __future__ import annotations

from functools import partial

from pykbroker.client.group_state import find_groups, kind_of
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import Options, ToolError, connect, exactly_one

_ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")


def main(kind: str, kip: str, words: list[str]) -> None:
    """``kind`` is the type of the groups, ``kip`` the proposal that they came with."""
    made = Options(f"kafka-{kind}-groups", f"List the {kind} groups.")
    made.connecting(also=())
    made.flags(*_ACTIONS)
    options, rest = made.parse_known_args(words)
    if exactly_one(options, _ACTIONS) != "list":
        raise ToolError(
            f"this command only lists {kind} groups ({kip}); to describe, reset or delete them run Apache Kafka's own "
            f"kafka-{kind}-groups."
        )
    if rest:
        made.error(f"unrecognized arguments: {' '.join(rest)}")
    with connect(options) as client:
        for node in client.nodes():
            for group in client.retrying(partial(find_groups, node)):
                if kind_of(group).lower() == kind:
                    print_lines(group.group_id)
