"""The metadata log, newest record first, decoded and without the secrets in some records.

Clients cannot fetch it as a topic. With an authorizer the console needs the permission of a broker that fetches it:
ClusterAction on the cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pykbroker.client.internal_records import meaning
from pykbroker.config.layers import setting_of
from pykbroker.http.console.reading import records_of
from pykbroker.metadata.image import BROKER_RESOURCE
from pykbroker.metadata.names import CLUSTER_METADATA
from pykbroker.wire.errors import WireError
from pykbroker.wire.messages.fetch import PartitionData

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console
    from pykbroker.http.console.reading import ReadRecord

_MOST_ROWS: Final = 200
_FETCHED: Final = 256 * 1024
_HIDDEN: Final = "(hidden)"
_SCRAM: Final = "UserScramCredentialRecord"
_SECRETS: Final = ("salt", "stored_key", "server_key")


async def listed(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a page of committed records, from ``start`` records before the end on.

    Records that a snapshot replaced are gone.
    """
    start, limit = call.whole("start", 0), call.whole("limit", 50, least=1, most=_MOST_ROWS)
    quorum = await console.brokers.outcome(console.brokers.cluster().controller.describe_quorum())
    begin, end = quorum.log_start_offset, quorum.high_watermark
    high = max(end - start, begin)
    rows = [row async for row in _rows(console, max(high - limit, begin), high)]
    return {"total": end - begin, "start": start, "records": rows[::-1]}


async def _rows(console: Console, low: int, high: int) -> Any:
    controller = console.brokers.cluster().controller
    offset, before = low, -1
    while before < offset < high:
        before = offset
        raw = await console.brokers.outcome(controller.read_log(offset, _FETCHED, high))
        if not raw:
            return
        async for some in records_of(console, PartitionData(records=raw), offset, high):
            offset = some[-1].record.offset + 1
            for found in some:
                yield _as_json(found)


def _as_json(found: ReadRecord) -> dict[str, Any]:
    record, control = found
    try:
        means = meaning(CLUSTER_METADATA, record, control=control) or {}
    except WireError as error:
        means = {"type": "unreadable", "value": str(error)}
    value = means.get("value")
    if isinstance(value, dict):
        value = _without_secrets(str(means["type"]), value)
    return {"offset": record.offset, "timestamp": record.timestamp, "type": means.get("type"), "value": value}


def _without_secrets(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    if kind == _SCRAM:
        return value | dict.fromkeys(_SECRETS, _HIDDEN)
    if kind == "ConfigRecord" and value["resource_type"] == BROKER_RESOURCE and value["value"] is not None:
        setting = setting_of(value["name"])
        if setting is None or setting.sensitive:
            return value | {"value": _HIDDEN}
    return value
