"""Clients that send their metrics (KIP-714): who they are, how they are, and all that one of them has sent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from pykbroker.steered.refusal import VerbRefused

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console
    from pykbroker.http.turn import Turn
    from pykbroker.telemetry.received import ClientValues

_MOST_ROWS: Final = 200
_NAME: Final = 1000
#: Ends of the names of metrics that say how a client is, in Java's and librdkafka's names.
_LAG: Final = ("records.lag.max",)
_LATENCY: Final = ("request.latency.avg", "request.latency.max", "fetch.latency.avg", "record.queue.time.avg")
_ERRORS: Final = ("error.total", "errors.total", "record.error.total", "failed.authentication.total")


async def listed(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a page of clients: lag, latency in milliseconds and errors as far as they have sent them, else null."""
    start, limit = call.whole("start", 0), call.whole("limit", 50, least=1, most=_MOST_ROWS)
    match = call.text("match", "", most=_NAME).lower()
    turn = console.turn()
    newest = await _newest(console, turn)
    found = [each async for each in turn.each(newest.values()) if match in each.client_id.lower()]
    found.sort(key=attrgetter("client_id", "instance_id"))
    rows = []
    for client in found[start : start + limit]:
        rows.append(_row(client))
        await turn.share()
    subscriptions = len(console.brokers.cluster().metadata.image.client_metrics)
    return {"total": len(found), "start": start, "clients": rows, "subscriptions": subscriptions}


async def one(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a page of the metrics of a client instance, by name. Raises VerbRefused 404."""
    start, limit = call.whole("start", 0), call.whole("limit", 50, least=1, most=_MOST_ROWS)
    instance, match = call.text("instance", most=_NAME), call.text("match", "", most=_NAME).lower()
    client = (await _newest(console, console.turn())).get(instance)
    if client is None:
        raise VerbRefused(404, "the client has not sent metrics for a while")
    found = sorted(
        (name, labels, value) for (name, labels), (value, _) in client.series.items() if match in name.lower()
    )
    rows = [
        {"name": name, "labels": dict(labels), "value": _finite(value)}
        for name, labels, value in found[start : start + limit]
    ]
    return {"total": len(found), "start": start, "client": client.client_id, "metrics": rows}


async def _newest(console: Console, turn: Turn) -> dict[str, ClientValues]:
    """Each instance as the broker knows it that had its last push: a client may go on with another."""
    newest: dict[str, ClientValues] = {}
    async for each in turn.each(_clients(console)):
        before = newest.get(each.instance_id)
        if before is None or before.last_push < each.last_push:
            newest[each.instance_id] = each
    return newest


def _clients(console: Console) -> Iterator[ClientValues]:
    for broker in console.brokers.cluster().brokers.values():
        if broker.started_telemetry is not None:
            yield from broker.started_telemetry.received.clients()


def _row(client: ClientValues) -> dict[str, Any]:
    return {
        "client": client.client_id,
        "instance": client.instance_id,
        "software": client.software,
        "lag": max(_values(client, _LAG), default=None),
        "latency": max(_values(client, _LATENCY), default=None),
        "errors": _sum(_values(client, _ERRORS)),
        "metrics": len(client.series),
    }


def _values(client: ClientValues, ends: tuple[str, ...]) -> list[float]:
    return [value for (name, _), (value, _) in client.series.items() if name.endswith(ends) and math.isfinite(value)]


def _sum(values: Iterable[float]) -> float | None:
    some = list(values)
    return sum(some) if some else None


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None
