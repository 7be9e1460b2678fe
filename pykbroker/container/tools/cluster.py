"""``kafka-cluster``: the cluster id, and the brokers' addresses."""

from __future__ import annotations

from pykbroker.client.client import Client
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import Options, connect


def main(words: list[str]) -> None:
    made = Options("kafka-cluster", "Show the id of a cluster, and where its brokers are.")
    made.add_argument("command", choices=("cluster-id", "list-endpoints"))
    made.connecting("--config", "--command-config")
    options = made.parse_args(words)
    with connect(options) as client:
        _id(client) if options.command == "cluster-id" else _endpoints(client)


def _id(client: Client) -> None:
    print_lines(f"Cluster ID: {client.metadata([]).cluster_id}")


def _endpoints(client: Client) -> None:
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    rows += [
        (str(each.node_id), each.host, str(each.port), each.rack or "null", "unfenced", "broker")
        for each in client.metadata([]).brokers
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print_lines(" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
