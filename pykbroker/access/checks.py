"""Authorization checks of a request, and the effects of a denial.

A check comes before the handler: it passes the request on, removes denied items and answers their errors, refuses the whole
request, or removes from the answer what the client may not see.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Protocol

from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.in_slices import in_slices
from pykbroker.handlers.table import SUPPORTED
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.security.operations import OPERATION_NAMES
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, GROUP, TOPIC, TRANSACTIONAL_ID, USER
from pykbroker.wire.apis import APIS
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.access.rows import Row
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer, Failed
    from pykbroker.runtime.slices import Work
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.security.context import RequestContext

#: The error of a denial, by the type of the resource.
ERROR_OF = {
    TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
_HANDLERS = {int(api.key): api.handler for api in SUPPORTED}

#: The weight of a check, and of one that ends in a line of the log.
WEIGHT = 1
WEIGHT_OF_A_DENIAL = 5

Proceed = Callable[[], "Answer"]


class CheckedRequest:
    """A request, with its authorizer."""

    __slots__ = ("authorizer", "broker", "ctx", "request")

    def __init__(self, authorizer: Authorizer, broker: Broker, ctx: RequestContext, request: Any) -> None:
        self.authorizer = authorizer
        self.broker = broker
        self.ctx = ctx
        self.request = request

    def may(self, operation: int, resource_type: int, name: str, *, tells: bool = True) -> bool:
        return self.authorizer.may(self.ctx, operation, resource_type, name, tells=tells)

    def topic_name(self, topic: Any, name: str, ids_since: int | None) -> str | None:
        """The name of a topic in the request; None for an unknown id."""
        if ids_since is None or self.ctx.api_version < ids_since:
            return str(getattr(topic, name))
        return self.broker.topic_name(topic.topic_id)

    def refused(self, code: ErrorCode, message: str | None = None) -> Answer:
        """The answer with an error for the whole request."""
        return in_slices(self.broker, self.ctx, self.refusal(code, message))

    def refusal(
        self, code: ErrorCode, message: str | None = None, *, only: dict[str, Any] | None = None
    ) -> Generator[float, None, Any]:
        """The same in slices: the handler's answer, or one built from the request. ``only`` replaces lists of the request."""
        handler = importlib.import_module(f"pykbroker.handlers.{_HANDLERS[self.ctx.api_key]}")
        failed: Failed | None = getattr(handler, "failed", None)
        if failed is None:
            return (yield from self.mirrored(code, only=only))[0]
        error, version = KafkaError(code, message), self.ctx.api_version
        return (yield from self._in_parts(lambda part: failed(part, version, error), only))

    def mirrored(
        self, code: ErrorCode, *, worded: bool = True, only: dict[str, Any] | None = None
    ) -> Generator[float, None, tuple[Any, str]]:
        """In slices an answer with the error for each item of the request, and the name of the list that has them, empty where one field
        is for the whole request. Without ``worded`` the message field stays empty, as in Kafka.
        """
        from pykbroker.refusals import answers

        site = answers.deepest_site(self.request, self.ctx.api_version)
        site = site._replace(worded=worded and site.worded)
        built = yield from self._in_parts(
            lambda part: answers.at_once(answers.built(part, site, answers.PlacedRefusal(code))), only
        )
        return built, site.path[0] if site.path else ""

    def _in_parts(self, refuse: Callable[[Any], Any], only: dict[str, Any] | None) -> Generator[float, None, Any]:
        from pykbroker.refusals import in_parts

        request = copy.copy(self.request)
        for name, items in (only or {}).items():
            setattr(request, name, items)
        return (yield from in_parts.refused(request, refuse))


class Check(Protocol):
    """See the module. ``rows`` are its rows in the documentation's table."""

    #: False if the handler authorizes itself, and the check exists for the table only.
    acts: bool

    @property
    def rows(self) -> tuple[Row, ...]: ...
    def __call__(self, checked: CheckedRequest, proceed: Proceed, /) -> Answer: ...


def then(answer: Answer, change: Callable[[Any], Any]) -> Answer:
    """Change an answer, now or when it is complete."""
    return answer.map(change) if isinstance(answer, Deferred) else change(answer)


def later(checked: CheckedRequest, answer: Answer, change: Callable[[CheckedRequest, Any], Work[Any]]) -> Answer:
    """Change an answer in slices, now or when it is complete."""

    def changed(response: Any) -> Any:
        return in_slices(checked.broker, checked.ctx, change(checked, response))

    if isinstance(answer, Deferred):
        return answer.chain(lambda response: as_wait(changed(response)))
    changed_answer: Answer = changed(answer)
    return changed_answer


def with_refused(answer: Answer, refused: Any, items: str) -> Answer:
    """Merge the answer of denied items into an answer. With acks=0 there is none, and the connection is closed."""

    def joined(response: Any) -> Any:
        if response is None:
            raise CloseConnection(
                "something of a produce request with acks=0 is denied, and there is no other way to tell"
            )
        getattr(response, items).extend(getattr(refused, items))
        return response

    return then(answer, joined)


def needs(checked: CheckedRequest, operation: int) -> str:
    """The message for a request that is refused as a whole."""
    return f"Request {APIS[checked.ctx.api_key].name} needs {OPERATION_NAMES[operation]} permission."


def may_do_to_cluster(checked: CheckedRequest, operation: int, *, tells: bool = True) -> bool:
    return checked.may(operation, CLUSTER, CLUSTER_NAME, tells=tells)
