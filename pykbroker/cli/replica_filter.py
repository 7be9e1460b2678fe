"""``pykbroker topics replicas``: replicas of partitions, of all or of those that are not as they should be."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pykbroker.cli.completion import topic_names
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, refusal
from pykbroker.client.replica_state import Replicas, read_replicas
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

_ONLY = "Only partitions (any of these)"
_TOPIC = 2  # resource type of settings
_MIN_ISR = "min.insync.replicas"


@with_option_values
def replicas(
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC", autocompletion=topic_names, help="Topics; all where none.")
    ] = None,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    under_replicated: Annotated[
        bool, typer.Option("--under-replicated", help="with a replica that is out of sync.", rich_help_panel=_ONLY)
    ] = False,
    under_min_isr: Annotated[
        bool,
        typer.Option("--under-min-isr", help=f"with fewer in sync than {_MIN_ISR}.", rich_help_panel=_ONLY),
    ] = False,
    at_min_isr: Annotated[
        bool, typer.Option("--at-min-isr", help=f"with just {_MIN_ISR} in sync.", rich_help_panel=_ONLY)
    ] = False,
    unavailable: Annotated[
        bool, typer.Option("--unavailable", help="without a leader.", rich_help_panel=_ONLY)
    ] = False,
) -> None:
    """Show replicas: leader, in sync (ISR), eligible leaders (ELR), last known ELR, offline."""
    out = Output(as_json=as_json)
    with at.connect() as client:
        try:
            names = topics or [topic.name or "" for topic in client.metadata(None).topics]
            found = read_replicas(client, names, may_lack=not topics)  # one may be deleted meanwhile
            least = _min_isr(client, names) if under_min_isr or at_min_isr else {}
        except KafkaError as error:
            raise ClientError(refusal(f"Topic {', '.join(topics or ['(all)'])}", error)) from error
    chosen = []
    for topic, partitions in sorted(found.items()):
        for number, state in sorted(partitions.items()):
            in_sync, wanted = len(state.isr), min(least.get(topic, 0), len(state.replicas))
            reasons = [
                under_replicated and state.under_replicated,
                under_min_isr and in_sync < wanted,
                at_min_isr and in_sync == wanted,
                unavailable and state.unavailable,
            ]
            if any(reasons) or not (under_replicated or under_min_isr or at_min_isr or unavailable):
                chosen.append({"topic": topic, "partition": number} | as_row(state))
    if as_json:
        out.json(chosen)
    elif chosen:
        out.table({"topic": "TOPIC", "partition": "PARTITION"} | COLUMNS, chosen)
    else:
        out.remark("There are no such partitions.")


COLUMNS = {
    "leader": "LEADER",
    "replicas": "REPLICAS",
    "isr": "ISR",
    "elr": "ELR",
    "last_known_elr": "LAST KNOWN ELR",
    "offline": "OFFLINE",
}


def as_row(state: Replicas) -> dict[str, Any]:
    """Return the state of a partition as a row of a table or JSON."""
    return {
        "leader": None if state.leader < 0 else state.leader,
        "leader_epoch": state.leader_epoch,
        "replicas": state.replicas,
        "isr": state.isr,
        "elr": state.elr,
        "last_known_elr": state.last_known_elr,
        "offline": state.offline,
    }


def _min_isr(client: Client, names: list[str]) -> dict[str, int]:
    """Return each topic's min.insync.replicas."""
    resources = [
        DescribeConfigsResource(resource_type=_TOPIC, resource_name=name, configuration_keys=[_MIN_ISR])
        for name in names
    ]
    answer = client.any().call(DescribeConfigsRequest(resources=resources), DescribeConfigsResponse)
    return {result.resource_name: int(item.value or 1) for result in answer.results for item in result.configs}
