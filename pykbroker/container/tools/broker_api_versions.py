"""``kafka-broker-api-versions``: the APIs of each broker. Compose files call it to check that a broker is up."""

from __future__ import annotations

from pykbroker import __version__
from pykbroker.client.client import Client
from pykbroker.client.errors import raise_for
from pykbroker.container.tools.printing import print_cells, print_lines
from pykbroker.container.tools.running import Options, connect
from pykbroker.wire.apis import APIS
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse


def main(words: list[str]) -> None:
    made = Options("kafka-broker-api-versions", "Say which APIs each broker offers.")
    made.connecting()
    with connect(made.parse_args(words)) as client:
        for broker in client.metadata([]).brokers:
            print_lines(
                f"{broker.host}:{broker.port} (id: {broker.node_id} rack: {broker.rack or 'null'} isFenced: false) -> ("
            )
            *lines, last = _apis(client, broker.node_id) or [""]
            for line in lines:
                print_cells("", f"{line},")
            print_cells("", last)
            print_lines(")")


def _apis(client: Client, node_id: int) -> list[str]:
    connection = client.node(node_id)
    request = ApiVersionsRequest(client_software_name="pykbroker-cli", client_software_version=__version__)
    answer = connection.call(request, ApiVersionsResponse)
    raise_for(answer.error_code)
    lines = []
    for item in sorted(answer.api_keys, key=lambda item: item.api_key):
        name = _camel(APIS[item.api_key].name) if item.api_key in APIS else f"UNKNOWN({item.api_key})"
        versions = (
            f"{item.min_version}"
            if item.min_version == item.max_version
            else f"{item.min_version} to {item.max_version}"
        )
        usable = f" [usable: {connection.version(item.api_key)}]" if connection.supports(item.api_key) else ""
        lines.append(f"{name}({item.api_key}): {versions}{usable}")
    return lines


def _camel(name: str) -> str:
    return name if "_" not in name and not name.isupper() else "".join(word.capitalize() for word in name.split("_"))
