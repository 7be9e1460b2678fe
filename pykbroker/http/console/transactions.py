"""Transactional ids: their states, and the abort of an open transaction."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pykbroker.client.errors import raise_for
from pykbroker.http.console.in_process_client import TRANSACTION
from pykbroker.security.operations import DESCRIBE
from pykbroker.security.resources import TRANSACTIONAL_ID
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.list_transactions import ListTransactionsRequest

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console
    from pykbroker.http.console.in_process_client import InProcessClient

_MOST_ROWS: Final = 200
_NAME: Final = 32 * 1024
_MOST_PARTITIONS: Final = 100
#: Transaction timeout of the new producer epoch, which nobody will use.
_TIMEOUT_MS: Final = 60_000
#: How many times InitProducerId is retried while a transaction ends, and the pause in between.
_TRIES: Final = 100
_BETWEEN_S: Final = 0.05


async def listed(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a page of transactional ids by name, optionally in one ``state``."""
    brokers = console.brokers
    start, limit = call.whole("start", 0), call.whole("limit", 50, least=1, most=_MOST_ROWS)
    match, state = call.text("match", "", most=249).lower(), call.text("state", "", most=40)
    found: list[tuple[str, int]] = []
    for node_id in brokers.running():
        asked = ListTransactionsRequest(state_filters=[state] if state else [], producer_id_filters=[])
        answer = await brokers.ask(asked, 1, node_id)
        raise_for(answer.error_code)
        found += [
            (each.transactional_id, node_id)
            async for each in console.turn().each(answer.transaction_states)
            if match in each.transactional_id.lower()
        ]
    found.sort()
    rows = [await _described(brokers, name, node_id) for name, node_id in found[start : start + limit]]
    now = brokers.cluster().runtime.clock.now_ms()
    limits = brokers.principal.limits(DESCRIBE, TRANSACTIONAL_ID)
    return {"total": len(found), "start": start, "now": now, "transactions": rows, "limits": limits}


async def _described(brokers: InProcessClient, name: str, coordinator: int) -> dict[str, Any]:
    answer = await brokers.ask(DescribeTransactionsRequest([name]), 0, coordinator)
    (each,) = answer.transaction_states
    partitions = ((topic.topic, index) for topic in each.topics for index in topic.partitions)
    return {
        "id": name,
        "state": each.transaction_state,
        "producer": each.producer_id,
        "epoch": each.producer_epoch,
        "timeout": each.transaction_timeout_ms,
        "started": each.transaction_start_time_ms,
        "coordinator": coordinator,
        "partitions": [f"{topic}-{index}" for topic, index in islice(partitions, _MOST_PARTITIONS)],
        "partitions_in_all": sum(len(topic.partitions) for topic in each.topics),
    }


async def abort(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Abort the open transaction of an id and fence its producer, by InitProducerId."""
    name, brokers = call.text("id", most=_NAME), console.brokers
    coordinator = await brokers.coordinator(name, TRANSACTION)
    (there,) = (await brokers.ask(DescribeTransactionsRequest([name]), 0, coordinator)).transaction_states
    raise_for(there.error_code)  # so that an unknown id is not created
    asked = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=_TIMEOUT_MS)
    answer = await brokers.ask(asked, 4, coordinator)
    for _ in range(_TRIES):
        if answer.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
            break
        # CONCURRENT_TRANSACTIONS: the abort has begun, and its markers are being written
        await asyncio.sleep(_BETWEEN_S)
        answer = await brokers.ask(asked, 4, coordinator)
    raise_for(answer.error_code)
    return {"producer": answer.producer_id, "epoch": answer.producer_epoch}
