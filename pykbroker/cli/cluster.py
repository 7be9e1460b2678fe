"""``pykbroker cluster``: the brokers, controller, APIs with versions, and features of a cluster."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pykbroker import __version__
from pykbroker.cli.completion import broker_ids
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.cli.quorum import quorum
from pykbroker.client.client import Client
from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import raise_for
from pykbroker.client.quorum_state import read_quorum
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

app = typer.Typer(
    help="Show a cluster: its brokers, its controller, which APIs and features it has.", no_args_is_help=True
)
app.command("quorum")(quorum)

_FENCED_BROKERS_SINCE = 2  # of DescribeCluster

Broker = Annotated[
    int | None,
    typer.Option(
        "--broker", autocompletion=broker_ids, min=0, metavar="N", help="The broker to ask; else any of --bootstrap."
    ),
]


@app.command()
@with_option_values
def describe(
    *,
    at: ConnectionOptions,
    as_json: Json = False,
) -> None:
    """Show the cluster's id, its controller and its brokers."""
    out = Output(as_json=as_json)
    with at.connect() as client:
        found = _describe(client)
    if as_json:
        out.json(found)
        return
    controller = "unknown" if found["controller"] is None else found["controller"]
    title = f"Cluster {found['id'] or 'without id'}, controller {controller}"
    columns = {"id": "BROKER", "address": "ADDRESS", "rack": "RACK", "state": "STATE", "leads": "LEADS"}
    out.table(columns, found["brokers"], title=title)


def _describe(client: Client) -> dict[str, Any]:
    metadata = client.metadata(None)
    connection = client.any()
    leads = [partition.leader_id for topic in metadata.topics for partition in topic.partitions]
    fenced: dict[int, bool] = {}
    brokers = [(b.node_id, b.host, b.port, b.rack) for b in metadata.brokers]
    if connection.supports(ApiKey.DESCRIBE_CLUSTER):
        request = DescribeClusterRequest()
        request.include_fenced_brokers = connection.version(request.API_KEY) >= _FENCED_BROKERS_SINCE
        answer = connection.call(request, DescribeClusterResponse)
        raise_for(answer.error_code, answer.error_message)
        brokers = [(b.broker_id, b.host, b.port, b.rack) for b in answer.brokers]
        fenced = {b.broker_id: b.is_fenced for b in answer.brokers}
    return {
        "id": metadata.cluster_id,
        "controller": _controller(connection, metadata.controller_id),
        "brokers": [
            {
                "id": node_id,
                "address": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
                "rack": rack,
                "state": "fenced" if fenced.get(node_id) else "running",
                "leads": leads.count(node_id),
            }
            for node_id, host, port, rack in sorted(brokers)
        ],
    }


def _controller(connection: BrokerConnection, named: int) -> int | None:
    """Return the active controller.

    With KRaft, metadata names any broker as controller; the quorum's leader is the real one.
    """
    found = read_quorum(connection)
    if found is not None:
        named = found.leader_id
    return None if named < 0 else named


@app.command()
@with_option_values
def apis(
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    broker: Broker = None,
) -> None:
    """List the APIs that a broker offers, with their versions, and the version that these commands use."""
    out = Output(as_json=as_json)
    with at.connect() as client:
        connection = client.any() if broker is None else client.named_node(broker)
        rows = [
            {
                "key": item.api_key,
                "name": APIS[item.api_key].name if item.api_key in APIS else None,
                "min": item.min_version,
                "max": item.max_version,
                "used": connection.version(item.api_key) if connection.supports(item.api_key) else None,
            }
            for item in sorted(_api_versions(connection).api_keys, key=lambda item: item.api_key)
        ]
        address = connection.address
    if as_json:
        out.json(rows)
        return
    columns = {"key": "KEY", "name": "API", "min": "MIN", "max": "MAX", "used": "USED"}
    out.table(columns, rows, title=f"{address} offers {len(rows)} APIs")


@app.command()
@with_option_values
def features(
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    broker: Broker = None,
) -> None:
    """List the features that a broker supports, with the level that the cluster has finalized for each."""
    out = Output(as_json=as_json)
    with at.connect() as client:
        connection = client.any() if broker is None else client.named_node(broker)
        answer = _api_versions(connection)
    supported = {item.name: item for item in answer.supported_features}
    levels = {item.name: item.max_version_level for item in answer.finalized_features}
    rows = [
        {
            "feature": name,
            "level": levels.get(name, 0),
            "min": supported[name].min_version if name in supported else None,
            "max": supported[name].max_version if name in supported else None,
        }
        for name in sorted(supported.keys() | levels.keys())
    ]
    if as_json:
        out.json({"epoch": answer.finalized_features_epoch, "features": rows})
    elif rows:
        columns = {"feature": "FEATURE", "level": "LEVEL", "min": "MIN", "max": "MAX"}
        out.table(columns, rows, title=f"Features as of epoch {answer.finalized_features_epoch}")
    else:
        out.remark("This broker reports no features.")


def _api_versions(connection: BrokerConnection) -> ApiVersionsResponse:
    request = ApiVersionsRequest(client_software_name="pykbroker-cli", client_software_version=__version__)
    answer = connection.call(request, ApiVersionsResponse)
    raise_for(answer.error_code)
    return answer
