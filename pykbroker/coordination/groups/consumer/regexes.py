"""Subscriptions by pattern (RE2 syntax): changes of a member's pattern, and the resolution of a group's patterns to topics.

All patterns of a group are resolved together, so that they cause one rebalance: after a heartbeat, if the last resolution is
more than ten seconds ago and one of them is new, topics have been created since, or ``group.consumer.regex.refresh.
interval.ms`` has passed. The member that brought the pattern gets its topics with a later heartbeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pykbroker.coordination.groups.consumer.group import ConsumerGroup, ResolvedRegex
from pykbroker.coordination.groups.consumer.member import ConsumerMember
from pykbroker.coordination.groups.consumer.metadata_hash import metadata_hash
from pykbroker.coordination.groups.consumer.records import epoch_record, regex_record, regex_tombstone
from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.security.context import RequestContext
from pykbroker.security.operations import DESCRIBE
from pykbroker.security.resources import TOPIC
from pykbroker.wire.errors import ErrorCode, KafkaError

_LEAST_INTERVAL_MS = 10_000


@dataclass(slots=True)
class RegexChange:
    """The effects of a member's change of pattern."""

    changed: bool = False
    #: The topics are known at once: another member has the pattern, or the member has none now.
    resolved: bool = False
    records: list[CoordinatorRecord] = field(default_factory=list)
    #: The patterns to resolve after this heartbeat.
    to_resolve: frozenset[str] = frozenset()


def regex_change(group: ConsumerGroup, before: ConsumerMember, after: ConsumerMember) -> RegexChange:
    """Compare the patterns of a member. Raises KafkaError INVALID_REGULAR_EXPRESSION for one that does not compile."""
    change = RegexChange()
    is_new = False
    old, new = before.subscribed_regex, after.subscribed_regex
    if old != new:
        change.changed = True
        if group.subscribed_to(old) == 1:
            change.records.append(regex_tombstone(group.group_id, old or ""))
        if new and not group.subscribed_to(new):
            _compile(new)
            is_new = True
        else:
            change.resolved = new in group.regexes if new else bool(old)
    change.to_resolve = _to_resolve(group, old, new, is_new=is_new)
    return change


def _to_resolve(group: ConsumerGroup, old: str | None, new: str | None, *, is_new: bool) -> frozenset[str]:
    now_ms = group.around.clock.now_ms()
    patterns = group.patterns
    if not is_new and not patterns:
        return frozenset()
    last = next(iter(group.regexes.values()), None)
    if last is not None and now_ms <= last.timestamp_ms + _LEAST_INTERVAL_MS:
        return frozenset()
    patterns.subtract([old] if old else [])
    patterns.update([new] if new else [])
    wanted = frozenset(pattern for pattern, count in patterns.items() if count > 0)
    due = (
        is_new
        or len(wanted) != len(group.regexes)
        or last is None
        or last.version < group.around.topics_created_at
        or now_ms > last.timestamp_ms + group.settings.regex_refresh_interval_ms
    )
    return wanted if due else frozenset()


@dataclass(frozen=True, slots=True)
class Resolution:
    """An effect: the patterns of a group are to be matched, in a thread. ``requester`` is whose request it is."""

    group_id: str
    patterns: frozenset[str]
    requester: RequestContext


def resolution(group: ConsumerGroup, patterns: frozenset[str], requester: RequestContext) -> Outcome:
    """The resolution of a group's patterns as an effect; none if there are no patterns to resolve."""
    return Outcome(effects=[Resolution(group.group_id, patterns, requester)]) if patterns else Outcome()


def resolve(
    group: Group | None, matched: Mapping[str, frozenset[str]], requester: RequestContext, version: int
) -> Outcome:
    """The records of the resolved patterns (pattern to topics at metadata offset ``version``), and of a higher group epoch
    if they changed. Patterns match no topic that ``requester``, whose request resolves them, may not describe. None if the group has
    ended, or changed its kind, meanwhile.
    """
    if not isinstance(group, ConsumerGroup):
        return Outcome()
    image = group.around.image
    out = Outcome()
    topics = group.topics_after([], without=matched)
    changed = False
    for pattern, names in sorted(matched.items()):
        if not group.subscribed_to(pattern):
            continue
        found = _describable(group, names, requester)
        resolved = ResolvedRegex(found, version, group.around.clock.now_ms())
        before = group.regexes.get(pattern)
        changed |= (frozenset() if before is None else before.topics) != found
        topics |= found
        out.records.append(regex_record(group.group_id, pattern, resolved))
    hashed = metadata_hash(topics, image)
    if changed or hashed != group.metadata_hash:
        out.records.append(epoch_record(group.group_id, group.epoch + 1, hashed))
    return out


def _describable(group: ConsumerGroup, topics: frozenset[str], requester: RequestContext) -> frozenset[str]:
    authorizer = group.around.authorizer
    if authorizer is None:
        return topics
    return frozenset(name for name in topics if authorizer.may(requester, DESCRIBE, TOPIC, name, tells=False))


def _compile(pattern: str) -> None:
    from pykbroker.coordination.groups.patterns import InvalidPattern, compile_pattern

    try:
        compile_pattern(pattern)
    except InvalidPattern as error:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {error}.",
        ) from error
