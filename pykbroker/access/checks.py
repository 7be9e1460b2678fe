"""What can be asked about a request, and what becomes of it where the answer is no.

A check stands before the rest of the way: it lets the request go on, takes out of it what is denied and says so in the
answer, refuses it as a whole, or takes out of the answer what the asker may not see.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.table import SUPPORTED
from pykbroker.runtime.waits import Deferred
from pykbroker.security.operations import OPERATION_NAMES
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, GROUP, TOPIC, TRANSACTIONAL_ID, USER
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.access.rows import Row
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer, Failed
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.message import Message

#: What is answered to who may not, by the type of the resource.
ERROR_OF = {
    TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
_HANDLERS = {int(api.key): api.handler for api in SUPPORTED}

Proceed = Callable[[], "Answer"]


class Asked:
    """A request on its way, and whom to ask about it."""

    __slots__ = ("authorizer", "broker", "ctx", "request")

    def __init__(self, authorizer: Authorizer, broker: Broker, ctx: RequestContext, request: Any) -> None:
        self.authorizer = authorizer
        self.broker = broker
        self.ctx = ctx
        self.request = request

    def may(self, operation: int, resource_type: int, name: str, *, tells: bool = True) -> bool:
        return self.authorizer.may(self.ctx, operation, resource_type, name, tells=tells)

    def topic_name(self, topic: Any, name: str, ids_since: int | None) -> str | None:
        """How a topic of the request is called; None for an id that nobody has."""
        if ids_since is None or self.ctx.api_version < ids_since:
            return str(getattr(topic, name))
        return self.broker.cluster.topic_name(topic.topic_id)

    def refused(self, code: ErrorCode, message: str | None = None) -> Message:
        """The answer that says an error of all of the request: the handler's, or one made after the request."""
        handler = importlib.import_module(f"pykbroker.handlers.{_HANDLERS[self.ctx.api_key]}")
        failed: Failed | None = getattr(handler, "failed", None)
        if failed is not None:
            return failed(self.request, self.ctx.api_version, KafkaError(code, message))
        answer: Message = self.mirrored(code)[0]
        return answer

    def without(self, **lists: Any) -> Asked:
        """The same of a request that has other lists."""
        request = copy.copy(self.request)
        for name, items in lists.items():
            setattr(request, name, items)
        return Asked(self.authorizer, self.broker, self.ctx, request)

    def mirrored(self, code: ErrorCode, *, worded: bool = True, **only: Any) -> tuple[Any, str]:
        """An answer with the error for each item of the request, and the name of the list that has them. ``only`` replaces
        lists of the request; not ``worded``: Kafka says no words there, though there is room for them.
        """
        from pykbroker.refusals import answers  # noqa: PLC0415 - nothing of it is needed before the first refusal

        request = self.without(**only).request
        site = answers.deepest_site(request, self.ctx.api_version)
        return answers.built(request, site._replace(worded=worded and site.worded), answers.Refusal(code)), site.path[0]


class Check(Protocol):
    """See the module. ``rows`` are what the table in the documentation says of it."""

    #: False where the handler does the asking, and the check is there for the table alone.
    acts: bool

    @property
    def rows(self) -> tuple[Row, ...]: ...
    def __call__(self, asked: Asked, proceed: Proceed, /) -> Answer: ...


def then(answer: Answer, change: Callable[[Any], Any]) -> Answer:
    """An answer changed, now or when it is there."""
    return answer.map(change) if isinstance(answer, Deferred) else change(answer)


def with_refused(answer: Answer, refused: Any, items: str) -> Answer:
    """An answer with what another one says of what was denied. A producer that wants none (acks=0) can be told only by the
    end of its connection.
    """

    def joined(response: Any) -> Any:
        if response is None:
            raise CloseConnection(
                "something of a produce request with acks=0 is denied, and there is no other way to tell"
            )
        getattr(response, items).extend(getattr(refused, items))
        return response

    return then(answer, joined)


def needs(asked: Asked, operation: int) -> str:
    """Why a request as a whole is refused, for people."""
    from pykbroker.wire.apis import APIS  # noqa: PLC0415 - nothing of it is needed before the first refusal

    return f"Request {APIS[asked.ctx.api_key].name} needs {OPERATION_NAMES[operation]} permission."


def may_do_to_cluster(asked: Asked, operation: int, *, tells: bool = True) -> bool:
    return asked.may(operation, CLUSTER, CLUSTER_NAME, tells=tells)
