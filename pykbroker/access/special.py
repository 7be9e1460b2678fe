"""Checks of single APIs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pykbroker.access.checks import (
    ERROR_OF,
    WEIGHT,
    WEIGHT_OF_A_DENIAL,
    CheckedRequest,
    Proceed,
    later,
    may_do_to_cluster,
    with_refused,
)
from pykbroker.access.rows import Row
from pykbroker.handlers import create_delegation_token
from pykbroker.handlers.in_slices import WEIGHT_OF_LITTLE, in_slices, kept
from pykbroker.handlers.produce import failed, is_transactional, settle
from pykbroker.metadata.names import CLUSTER_METADATA
from pykbroker.security.operations import (
    CLUSTER_ACTION,
    CREATE,
    CREATE_TOKENS,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    IDEMPOTENT_WRITE,
    WRITE,
)
from pykbroker.security.resources import CLUSTER, GROUP, TOPIC, TRANSACTIONAL_ID, USER
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.handlers.contract import Answer
    from pykbroker.runtime.slices import Work

#: The resource type of FindCoordinator's key types.
_OF_KEYS = {0: GROUP, 1: TRANSACTIONAL_ID}
_SHARE = 2
_MANY_SINCE, _SHARE_SINCE = 4, 6
_NO_TRANSACTION = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class TransactionalBatches:
    """Produce: transactional batches require WRITE on the transactional id, or the whole request is refused."""

    acts = True

    rows = (Row(TRANSACTIONAL_ID, (WRITE,), "of transactional batches", _NO_TRANSACTION, "all partitions"),)

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        name = checked.request.transactional_id
        if not is_transactional(checked.request) or (name is not None and checked.may(WRITE, TRANSACTIONAL_ID, name)):
            return proceed()
        return settle(checked.request, failed(checked.request, checked.ctx.api_version, KafkaError(_NO_TRANSACTION)))


class IdempotentProducerIds:
    """InitProducerId without a transactional id requires IDEMPOTENT_WRITE, or WRITE on any topic."""

    acts = True

    rows = (
        Row(
            CLUSTER,
            (IDEMPOTENT_WRITE,),
            "without a transactional id, unless WRITE on any topic",
            ERROR_OF[CLUSTER],
            "the whole request",
        ),
    )

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        if (
            checked.request.transactional_id is not None
            or may_do_to_cluster(checked, IDEMPOTENT_WRITE, tells=False)
            or checked.authorizer.may_to_any(checked.ctx, WRITE, TOPIC)
        ):
            return proceed()
        return checked.refused(ERROR_OF[CLUSTER])


class CoordinatorKeys:
    """FindCoordinator requires DESCRIBE on the group or transactional id."""

    acts = True

    rows = (
        Row(
            GROUP, (DESCRIBE,), "each key of type 0", ERROR_OF[GROUP], "the item, or the whole request before version 4"
        ),
        Row(TRANSACTIONAL_ID, (DESCRIBE,), "each key of type 1", _NO_TRANSACTION, "the same"),
        Row(CLUSTER, (CLUSTER_ACTION,), "keys of type 2, from version 6", ERROR_OF[CLUSTER], "the whole request"),
    )

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        request = checked.request
        resource_type = _OF_KEYS.get(request.key_type)
        if resource_type is None:
            if (
                request.key_type != _SHARE
                or checked.ctx.api_version < _SHARE_SINCE
                or may_do_to_cluster(checked, CLUSTER_ACTION)
            ):
                return proceed()
            return checked.refused(ERROR_OF[CLUSTER])
        if checked.ctx.api_version < _MANY_SINCE:
            if checked.may(DESCRIBE, resource_type, request.key):
                return proceed()
            return checked.refused(ERROR_OF[resource_type])
        return in_slices(checked.broker, checked.ctx, self._of_many(checked, proceed, resource_type))

    def _of_many(self, checked: CheckedRequest, proceed: Proceed, resource_type: int) -> Work[Any]:
        allowed, denied = [], []
        for key in checked.request.coordinator_keys:
            if checked.may(DESCRIBE, resource_type, key):
                allowed.append(key)
                yield WEIGHT
            else:
                denied.append(key)
                yield WEIGHT_OF_A_DENIAL
        if not denied:
            return proceed()
        refused, items = yield from checked.mirrored(
            ERROR_OF[resource_type], worded=False, only={"coordinator_keys": denied}
        )
        for each in refused.coordinators:
            each.port = -1
            yield WEIGHT_OF_LITTLE
        checked.request.coordinator_keys = allowed
        return with_refused(proceed(), refused, items) if allowed else refused


class NewTopics:
    """CreateTopics requires CREATE on the cluster or the topic; its settings are answered with DESCRIBE_CONFIGS only."""

    acts = True

    rows = (
        Row(
            TOPIC,
            (CREATE,),
            "each of `topics`, unless CREATE on the cluster",
            ERROR_OF[TOPIC],
            "the item",
        ),
        Row(
            TOPIC,
            (DESCRIBE_CONFIGS,),
            "each of `topics` that is created, from version 5",
            ERROR_OF[TOPIC],
            "`topic_config_error_code`, without settings, partitions and replication factor",
        ),
    )

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        return in_slices(checked.broker, checked.ctx, self._of_all(checked, proceed))

    def _of_all(self, checked: CheckedRequest, proceed: Proceed) -> Work[Any]:
        request = checked.request
        times = Counter(map(attrgetter("name"), request.topics))
        denied = set()
        if not may_do_to_cluster(checked, CREATE, tells=False):
            for name, count in times.items():
                if count == 1 and name != CLUSTER_METADATA and not checked.may(CREATE, TOPIC, name):
                    denied.add(name)
                yield WEIGHT_OF_A_DENIAL
        silent = set()
        for name in times:
            if not checked.may(DESCRIBE_CONFIGS, TOPIC, name, tells=False):
                silent.add(name)
            yield WEIGHT
        answer: Answer
        if denied:
            only = yield from kept(request.topics, lambda topic: topic.name in denied)
            refused, items = yield from checked.mirrored(ERROR_OF[TOPIC], only={"topics": only})
            for topic in refused.topics:
                topic.error_message = "Authorization failed."
                yield WEIGHT_OF_LITTLE
            request.topics = yield from kept(request.topics, lambda topic: topic.name not in denied)
            answer = with_refused(proceed(), refused, items) if request.topics else refused
        else:
            answer = proceed()
        return later(checked, answer, partial(_without_settings, silent)) if silent else answer


def _without_settings(silent: set[str], checked: CheckedRequest, response: Any) -> Work[Any]:
    del checked
    for topic in response.topics:
        if topic.name in silent and topic.error_code == ErrorCode.NONE:
            topic.topic_config_error_code = ERROR_OF[TOPIC]
            topic.configs = []
            topic.num_partitions = topic.replication_factor = -1
        yield WEIGHT_OF_LITTLE
    return response


class MembersTopics:
    """ConsumerGroupDescribe and ShareGroupDescribe require DESCRIBE on all topics of the group's members; members of share groups
    have no target.
    """

    acts = True

    rows = (
        Row(
            TOPIC,
            (DESCRIBE,),
            "every topic of a group's members",
            ERROR_OF[TOPIC],
            "the group, without its members",
        ),
    )
    _WORDS = "The group has described topic(s) that the client is not authorized to describe."

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        return later(checked, proceed(), self._permitted)

    def _permitted(self, checked: CheckedRequest, response: Any) -> Work[Any]:
        groups = []
        for group in response.groups:
            may_see = yield from self._may_see(checked, group)
            groups.append(group if may_see else type(group)(ERROR_OF[TOPIC], self._WORDS, group.group_id))
            yield WEIGHT
        response.groups = groups
        return response

    def _may_see(self, checked: CheckedRequest, group: Any) -> Generator[float, None, bool]:
        names = yield from self._names(group)
        for name in sorted(names):
            if not checked.may(DESCRIBE, TOPIC, name):
                return False
            yield WEIGHT
        return True

    def _names(self, group: Any) -> Generator[float, None, set[str]]:
        """The topics of a group."""
        names = set()
        for member in group.members:
            target = getattr(member, "target_assignment", member.assignment)
            for assignment in (member.assignment, target):
                for partitions in assignment.topic_partitions:
                    names.add(partitions.topic_name)
                    yield WEIGHT_OF_LITTLE
            yield WEIGHT_OF_LITTLE
        return names


class TopologyTopics:
    """StreamsGroupHeartbeat requires DESCRIBE on all topics of a topology, after these were found valid."""

    acts = True

    rows = (Row(TOPIC, (DESCRIBE,), "every topic of `topology`", ERROR_OF[TOPIC], "the whole request"),)

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        if checked.request.topology is None:
            return proceed()
        return in_slices(checked.broker, checked.ctx, self._of(checked, proceed))

    def _of(self, checked: CheckedRequest, proceed: Proceed) -> Work[Any]:
        from pykbroker.coordination.groups.streams.topology import check_topics, topics_named

        yield from check_topics(checked.request)
        is_denied = False
        for name in topics_named(checked.request):
            if checked.may(DESCRIBE, TOPIC, name):
                yield WEIGHT
            else:
                is_denied = True
                yield WEIGHT_OF_A_DENIAL
        return (yield from checked.refusal(ERROR_OF[TOPIC])) if is_denied else proceed()


class DescribedTopology(MembersTopics):
    """StreamsGroupDescribe requires DESCRIBE on all topics of a group's topology."""

    rows = (
        Row(TOPIC, (DESCRIBE,), "every topic of a group's topology", ERROR_OF[TOPIC], "the group, without its members"),
    )
    _WORDS = "The described group uses topics that the client is not authorized to describe."

    def _names(self, group: Any) -> Generator[float, None, set[str]]:
        names: set[str] = set()
        for each in () if group.topology is None else group.topology.subtopologies:
            names.update(each.source_topics, each.repartition_sink_topics)
            for topic in (*each.repartition_source_topics, *each.state_changelog_topics):
                names.add(topic.name)
                yield WEIGHT_OF_LITTLE
            yield WEIGHT_OF_LITTLE * (1 + len(each.source_topics) + len(each.repartition_sink_topics))
        return names


class TokensForOthers:
    """CreateDelegationToken for another owner requires CREATE_TOKENS on that user; clients that may not request tokens are refused
    before.
    """

    acts = True

    rows = (
        Row(
            USER,
            (CREATE_TOKENS,),
            "the owner of the token, unless it is for the asker",
            ERROR_OF[USER],
            "the whole request",
        ),
    )

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        owner = create_delegation_token.owner_of(checked.ctx, checked.request)
        if (
            owner == checked.ctx.principal
            or not create_delegation_token.is_allowed(checked.broker, checked.ctx)
            or checked.may(CREATE_TOKENS, USER, owner)
        ):
            return proceed()
        return create_delegation_token.refused(checked.ctx, checked.request, ERROR_OF[USER])


class Within:
    """An authorization inside the handler, listed here for the table."""

    acts = False

    def __init__(self, *rows: Row) -> None:
        self.rows = rows

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        del checked
        return proceed()


def lacks_protocol(request: Any, version: int) -> bool:
    """Whether a SyncGroup from version 5 lacks its protocol, which is refused before any authorization."""
    return version >= 5 and (request.protocol_type is None or request.protocol_name is None)
