"""The helpers of ``Kafka`` for tests that are coroutines: the test's own loop runs on while they wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from pykbroker.testing.access import Access
from pykbroker.testing.acting import Acting
from pykbroker.testing.asking import Asking

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

    create_topic = _awaited(Asking.create_topic)
    delete_topic = _awaited(Asking.delete_topic)
    topics = _awaited(Asking.topics)
    produce = _awaited(Asking.produce)
    records = _awaited(Asking.records)
    wait_for_record = _awaited(Asking.wait_for_record)
    wait_for_records = _awaited(Asking.wait_for_records)
    seed = _awaited(Asking.seed)
    export = _awaited(Asking.export)
    group = _awaited(Asking.group)
    wait_for_group = _awaited(Asking.wait_for_group)
    committed = _awaited(Asking.committed)
    wait_for_committed = _awaited(Asking.wait_for_committed)
    wait_for_lag = _awaited(Asking.wait_for_lag)
    transaction = _awaited(Asking.transaction)
    wait_for_transaction = _awaited(Asking.wait_for_transaction)
    wait_until = _awaited(Asking.wait_until)

    reset = _awaited(Acting.reset)
    snapshot = _awaited(Acting.snapshot)
    restore = _awaited(Acting.restore)
    advance = _awaited(Acting.advance)
    run_retention = _awaited(Acting.run_retention)
    run_compaction = _awaited(Acting.run_compaction)
