"""The helpers of ``Kafka`` for tests that are coroutines: the test's own loop runs on while they wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from pykbroker.testing.access import Access
from pykbroker.testing.actions import Actions
from pykbroker.testing.judging import Judging
from pykbroker.testing.queries import Queries

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Aio, P], Coroutine[Any, Any, T]]:
    async def call(self: Aio, /, *args: P.args, **named: P.kwargs) -> T:
        if asyncio._get_running_loop() is None:  # noqa: SLF001 - what asyncio itself asks, which raises no "no running event loop"
            name = method.__name__
            raise RuntimeError(
                f"kafka.aio is for asyncio. With trio: await trio.to_thread.run_sync(functools.partial(kafka.{name}, ...)); "
                f"with anyio: anyio.to_thread.run_sync"
            )
        return await asyncio.to_thread(getattr(self.kafka, method.__name__), *args, **named)

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


class Aio:
    """``await kafka.aio.wait_for_group("g", "Stable")``: as the method of the same name, in a thread. A wait that is
    cancelled ends at its timeout.
    """

    def __init__(self, kafka: Access) -> None:
        self.kafka = kafka

    create_topic = _awaited(Queries.create_topic)
    delete_topic = _awaited(Queries.delete_topic)
    topics = _awaited(Queries.topics)
    produce = _awaited(Queries.produce)
    records = _awaited(Queries.records)
    wait_for_record = _awaited(Queries.wait_for_record)
    wait_for_records = _awaited(Queries.wait_for_records)
    seed = _awaited(Queries.seed)
    export = _awaited(Queries.export)
    group = _awaited(Queries.group)
    wait_for_in_sync = _awaited(Queries.wait_for_in_sync)
    wait_for_group = _awaited(Queries.wait_for_group)
    committed = _awaited(Queries.committed)
    wait_for_committed = _awaited(Queries.wait_for_committed)
    wait_for_lag = _awaited(Queries.wait_for_lag)
    share_group = _awaited(Queries.share_group)
    wait_for_share_group = _awaited(Queries.wait_for_share_group)
    transaction = _awaited(Queries.transaction)
    wait_for_transaction = _awaited(Queries.wait_for_transaction)
    subscribe_client_metrics = _awaited(Queries.subscribe_client_metrics)
    client_metrics = _awaited(Queries.client_metrics)
    wait_for_client_metrics = _awaited(Queries.wait_for_client_metrics)
    wait_until = _awaited(Queries.wait_until)
    judge = _awaited(Judging.judge)

    reset = _awaited(Actions.reset)
    snapshot = _awaited(Actions.snapshot)
    restore = _awaited(Actions.restore)
    advance = _awaited(Actions.advance)
    run_retention = _awaited(Actions.run_retention)
    run_compaction = _awaited(Actions.run_compaction)
