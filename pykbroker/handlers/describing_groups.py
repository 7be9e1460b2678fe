"""What the requests that describe groups of one kind share: ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pykbroker.coordination.groups.group import check_group_id
from pykbroker.handlers.in_slices import each
from pykbroker.runtime.waits import as_wait, attempt
from pykbroker.security.authorized import authorized_operations
from pykbroker.security.resources import GROUP
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.groups.shard import GroupShard
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


class DescribedKind(NamedTuple):
    """A kind of groups: what raises KafkaError UNSUPPORTED_VERSION where it is not served, the step that describes a group, the class
    of the answer's groups, and the weight of one (``runtime/slices.py``), also where each permitted operation is a question to an
    authorizer.
    """

    check_served: Callable[[Broker], None]
    describe: Callable[[GroupShard, str], Any]
    answer: Callable[..., Any]
    weight: float
    weight_with_authorizer: float
    #: Whether ``describe`` returns steps with the description, which may be long.
    in_slices: bool = False


def described_groups(
    broker: Broker,
    ctx: RequestContext,
    of: DescribedKind,
    group_ids: Sequence[str],
    *,
    with_operations: bool,
    add: Callable[[Any], None] | None = None,
) -> list[Any] | Deferred[list[Any]]:
    """Each group once, in order, described or refused; ``with_operations`` with what the client may do. ``add`` says more of each that
    is described.
    """

    def completed(group: Any) -> Any:
        if group.error_code == ErrorCode.NONE:
            if with_operations:
                group.authorized_operations = authorized_operations(broker.authorizer, ctx, GROUP, group.group_id)
            if add is not None:
                add(group)
        return group

    def in_order(group_id: str) -> Deferred[Any]:
        described = _described(broker, of, group_id)
        return described if add is None and not with_operations else described.map(completed)

    weight = of.weight if broker.authorizer is None else of.weight_with_authorizer
    return each(broker, ctx, group_ids, in_order, weight=weight, once=str)


def _described(broker: Broker, of: DescribedKind, group_id: str) -> Deferred[Any]:
    def checked() -> Any:
        of.check_served(broker)
        check_group_id(group_id)
        found = broker.groups.ask(group_id, of.describe, group_id)
        return as_wait(found).chain(lambda steps: as_wait(broker.runtime.slices.run(steps))) if of.in_slices else found

    def refused(error: KafkaError) -> Any:
        return of.answer(group_id=group_id, error_code=error.code, error_message=error.given_message)

    return attempt(checked).recover(KafkaError, refused)
