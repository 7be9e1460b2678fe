"""Sees each request of a process of brokers twice, outside and inside of what chaos does to it, with the state in which it was handled.

What a client is answered must be what the handler has answered, but for a throttle time, with which a Fetch has no records, and what the handler has answered must be allowed
in its state (``allowed.py``). An end of the connection answers nothing, and may come at any time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from compat_tests.testing_faults.allowed import Handled, Look, judge, places
from pykbroker.handlers.contract import CloseConnection, NotYet
from pykbroker.requests.pipeline import Place, through
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.headers import begin_response

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.process.node import Node
    from pykbroker.security.context import RequestContext


class Witness:
    """Of one process of brokers. ``found`` has what is not allowed, ``seen`` how often each answer came: API and error."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.seen: Counter[tuple[str, str]] = Counter()
        #: Leaders and epochs that partitions have had.
        self._led: set[tuple[str, int, int, int]] = set()
        #: What handlers have answered and clients were not told yet, encoded, by connection and correlation id.
        self._answered: dict[tuple[int, int], tuple[Any, bytes | int]] = {}
        self._node: Node | None = None

    def watch(self, node: Node) -> None:
        """Watch a process that has not begun to answer."""
        self._node = node
        node.server.dispatcher.places.fill(Place.OBSERVE, through(self._outside))
        node.server.dispatcher.places.fill(Place.VALIDATE, through(self._inside))

    def _inside(self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Any], /) -> Any:
        named = places(request)
        before = self._look(broker, ctx, request, named)
        self._led |= before.led

        def handled(answer: Any) -> Any:
            after = self._look(broker, ctx, request, named)
            self._led |= after.led
            self._judge(Handled(APIS[ctx.api_key].name, request, answer, before, after, frozenset(self._led)))
            self._answered[id(ctx.connection), ctx.correlation_id] = ctx.connection, _encoded(answer, ctx.api_version)
            return answer

        def refused(error: KafkaError) -> Any:
            handled(error)
            raise error

        return _followed(proceed, handled, refused)

    def _look(self, broker: Broker, ctx: RequestContext, request: Any, named: set[tuple[str, int]]) -> Look:
        assert self._node is not None
        return Look(broker, ctx, request, list(self._node.cluster.brokers.values()), named)

    def _judge(self, handled: Handled) -> None:
        for error, wrong in judge(handled):
            self.seen[handled.api, error] += 1
            if wrong:
                self.found.append(f"{handled.api} {error}: {wrong}: {handled.request!r:.300} {handled.answer!r:.300}")

    def _outside(self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Any], /) -> Any:
        def compared(answer: Any) -> Any:
            _, real = self._answered.pop((id(ctx.connection), ctx.correlation_id), (None, b"nothing"))
            throttled = getattr(answer, "throttle_time_ms", 0)
            if throttled:
                answer.throttle_time_ms = 0
            if throttled and ctx.api_key == ApiKey.FETCH:
                if answer.responses:
                    self.found.append(f"a throttled Fetch has records: {answer!r:.300}")
            elif _encoded(answer, ctx.api_version) != real:
                self.found.append(
                    f"{APIS[ctx.api_key].name}: the client is told {answer!r:.300}, the handler says otherwise"
                )
            if throttled:
                answer.throttle_time_ms = throttled
            return answer

        def refused(error: KafkaError) -> Any:
            compared(error)
            raise error

        return _followed(proceed, compared, refused)


def _followed(proceed: Callable[[], Any], answered: Callable[[Any], Any], refused: Callable[[KafkaError], Any]) -> Any:
    try:
        answer = proceed()
    except (NotYet, CloseConnection):
        raise
    except KafkaError as error:
        return refused(error)
    if isinstance(answer, Deferred):
        return answer.map(answered).recover(KafkaError, refused)
    return answered(answer)


def _encoded(answer: Any, version: int) -> bytes | int:
    """The bytes of an answer, or the code of an error that is one for the whole request."""
    if isinstance(answer, KafkaError):
        return int(answer.code)
    if answer is None:
        return b""
    out = begin_response(answer.API_KEY, version, 0)
    answer.encode(out, version)
    return b"".join(map(bytes, out.finish()))
