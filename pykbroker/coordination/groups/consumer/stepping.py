"""One step of a group for a member's request: the member changes, epochs rise, it moves towards its target.

Members of the consumer protocol and classic ones share it. A step reads the state and decides in records; state that is not
in the log (deadlines) is noted once they are replayed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from pykbroker.coordination.groups.assigning import Assigning
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import ConsumerMember, Target
from pykbroker.coordination.groups.consumer.metadata_hash import metadata_hash
from pykbroker.coordination.groups.consumer.reconciling import Goal, Reported, reconcile
from pykbroker.coordination.groups.consumer.records import (
    assignment_record,
    epoch_record,
    member_record,
    old_metadata_tombstone,
)
from pykbroker.coordination.groups.consumer.regexes import RegexChange, regex_change, resolution
from pykbroker.coordination.groups.consumer.subscriptions import Subscriptions
from pykbroker.coordination.groups.consumer.targets import assign
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.security.context import RequestContext

log = logging.getLogger(__name__)


@dataclass(slots=True)
class GroupStep:
    """One member's step; ``before`` is the old member (a blank one if it is new), ``member`` the new one."""

    group: ConsumerGroup
    before: ConsumerMember
    member: ConsumerMember
    #: The partitions that the member reports to own; None if it reports none.
    reported: Reported | None
    records: list[CoordinatorRecord] = field(default_factory=list)
    epoch: int = 0
    regex: RegexChange = field(default_factory=RegexChange)
    subscription_changed: bool = False
    #: Whether this change raises the group epoch.
    bumps: bool = False
    #: Whether the member moved towards its target, or was told to revoke partitions.
    moved: bool = False
    #: The target that is to be computed in a thread.
    assigning: Assigning | None = None

    def change_subscription(self, *, always_bumps: bool = False) -> None:
        """Record the member if it changed, and raise the group epoch if that or the topics' metadata require it.

        A pattern that is not resolved yet does not, unless ``always_bumps``: the epoch rises with its resolution.
        """
        group = self.group
        names_changed = False
        if self.member != self.before:
            self.records.append(member_record(group.group_id, self.member))
            names_changed = self.member.subscribed_names != self.before.subscribed_names
        self.regex = regex_change(group, self.before, self.member)
        self.records += self.regex.records
        self.subscription_changed = names_changed or self.regex.changed
        self.bumps = names_changed or self.regex.resolved or (always_bumps and self.regex.changed)
        self.epoch = group.epoch
        if self.bumps or group.metadata_is_stale:
            self._look_at_metadata()

    def _look_at_metadata(self) -> None:
        group = self.group
        found = metadata_hash(group.topics_after([self.before], self.member), group.around.image)
        if self.bumps or found != group.metadata_hash:
            self.epoch = group.epoch + 1
            self.records.append(epoch_record(group.group_id, self.epoch, found))
            log.info("Group %s: bumped group epoch to %d", group.group_id, self.epoch)
        if group.has_old_metadata:
            self.records.append(old_metadata_tombstone(group.group_id))

    def get_on(self) -> None:
        """Compute the target assignment if it is due, and move the member a step towards it."""
        target_epoch, target = self._target()
        self.reconcile(target_epoch, target, subscription_changed=self.subscription_changed)

    def _target(self) -> tuple[int, Target]:
        group = self.group
        if not group.may_assign(self.epoch):
            return group.target_epoch, group.target_of(self.member)
        found = assign(group, self.epoch, self.before, self.member)
        if isinstance(found, Assigning):
            self.assigning = found
            return group.target_epoch, group.target_of(self.member)
        records, given = found
        self.records += records
        return self.epoch, given[self.member.member_id]

    def reconcile(self, target_epoch: int, target: Target, *, subscription_changed: bool) -> None:
        """Move the member a step towards a target."""
        if not subscription_changed and self.member.is_reconciled_to(target_epoch):
            return
        subscribed = Subscriptions(self.group).of(self.member)
        goal = Goal(target_epoch, target, subscribed, self.group.is_free, self.reported, subscription_changed)
        after = reconcile(self.member, goal)
        if after != self.member:
            self.records.append(assignment_record(self.group.group_id, after))
            self.member = after
            self.moved = True

    def settle(self, group: ConsumerGroup) -> None:
        """The records are replayed into ``group``: note the state that is not in the log."""
        group.metadata_is_stale = False
        if self.moved:
            group.deadlines.watch_revocation(self.member)

    def what_follows(self, requester: RequestContext) -> Outcome:
        """What threads do after this step: match patterns, compute the target."""
        out = resolution(self.group, self.regex.to_resolve, requester)
        if self.assigning is not None:
            out.effects.append(self.assigning)
        return out
