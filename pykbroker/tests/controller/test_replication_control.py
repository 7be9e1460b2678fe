"""Any order of what happens to brokers with a store each, of what leaders say and operators ask: what holds after each step.

The model of the data is the set of replicas that have every committed record. A leader that was elected cleanly is one of them.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, cast

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pykbroker.controller import alter_partition, assignments, own_stores, partition_changes, replication_control
from pykbroker.controller.controller import Controller
from pykbroker.controller.elections import ElectionType
from pykbroker.controller.partition_changes import RECOVERING
from pykbroker.controller.reassignments import Reassignment
from pykbroker.controller.replication_control import ReplicationControl
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import NO_LEADER, TOPIC_RESOURCE, PartitionImage
from pykbroker.tests.controller import test_alter_partition, test_own_stores, test_remote_brokers
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.kit.metadata import alter, make_replicating_controller, own_registration, records_in, replayed
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    BrokerState,
)

BROKERS = range(1, 5)
some_broker = st.sampled_from(BROKERS)
some_replicas = st.lists(some_broker, min_size=1, max_size=3, unique=True)


class Replication(RuleBasedStateMachine):
    """Brokers 1 to 4, and a partition that begins on three of them."""

    @initialize(elr=st.sampled_from([0, 1]), min_isr=st.integers(1, 3))
    def begin(self, elr: int, min_isr: int) -> None:
        self.elr = elr
        self.controller: Controller = make_replicating_controller(len(BROKERS), min_isr=min_isr, elr=elr)
        self.controller.create_topics([NewTopic("t", -1, -1, [(0, [1, 2, 3])])])
        self.before = self.partition
        #: Broker epochs as their disks know them.
        self.markers: dict[int, int] = {}
        #: The replicas with every committed record; after an unclean election what its leader has is what counts.
        self.complete = {1, 2, 3}
        self.taken_back_to: list[int] = []

    @property
    def partition(self) -> PartitionImage:
        found = self.controller.image.partition("t", 0)
        assert found is not None
        return found

    @property
    def control(self) -> ReplicationControl:
        assert self.controller.own_stores is not None
        return self.controller.own_stores.control

    @property
    def alive(self) -> set[int]:
        return {broker.id for broker in self.controller.image.brokers.values() if broker.active}

    @rule(broker=some_broker, clean=st.booleans())
    def stop(self, broker: int, clean: bool) -> None:
        known = self.controller.image.brokers[broker]
        if known.fenced:
            return
        if clean:
            _ = self.controller.begin_shutdown(broker).value
            self.markers[broker] = known.epoch
        else:
            self.markers.pop(broker, None)
        _ = self.controller.fence_broker(broker).value

    @rule(broker=some_broker)
    def start(self, broker: int) -> None:
        if self.controller.image.brokers[broker].fenced:
            if broker not in self.markers and self.elr:
                self.complete.discard(broker)  # its disk may have lost what it had
            registration = own_registration(broker, self.markers.pop(broker, -1))
            _ = self.controller.start_broker(registration).value

    @precondition(lambda self: self.partition.leader != NO_LEADER)
    @rule(members=st.sets(some_broker), stale=st.booleans(), recovers=st.booleans())
    def alter_isr(self, members: set[int], stale: bool, recovers: bool) -> None:
        now, brokers = self.partition, self.controller.image.brokers
        wanted = AlterPartitionRequestPartitionData(
            leader_epoch=now.leader_epoch,
            new_isr_with_epochs=[BrokerState(each, brokers[each].epoch - stale) for each in sorted(members)],
            leader_recovery_state=now.leader_recovery_state if not recovers else 0,
            partition_epoch=now.partition_epoch,
        )
        topic = AlterPartitionRequestTopicData(self.controller.image.topics["t"].id, [wanted])
        request = AlterPartitionRequest(now.leader, brokers[now.leader].epoch, [topic])
        answer = self.controller.alter_partition(request).value.topics[0].partitions[0]
        after = self.partition
        if answer.error_code == 0:
            assert not stale
            assert members <= set(now.replicas) & self.alive
            self.complete |= members  # the leader waited until they had everything
            assert (answer.leader_id, answer.leader_epoch) == (after.leader, after.leader_epoch)
            assert (answer.isr, answer.partition_epoch) == (after.isr, after.partition_epoch)
        elif answer.error_code != ErrorCode.NEW_LEADER_ELECTED:
            assert after is now
        else:
            self.complete |= members

    @rule(replicas=st.none() | some_replicas)
    def reassign(self, replicas: list[int] | None) -> None:
        _ = self.controller.alter_reassignments([Reassignment("t", 0, replicas)], same_factor=False).value
        now = self.partition
        if replicas is None and self.control.may_elect_unclean("t") and now.leader not in self.complete:
            # Taken back to a replica that was not in sync, as the topic allows; it need not even run.
            self.complete, self.taken_back_to = set(now.isr), now.isr

    @rule(kind=st.sampled_from(ElectionType))
    def elect(self, kind: ElectionType) -> None:
        leaderless = self.partition.leader == NO_LEADER
        ((_, error),) = self.controller.elect_leaders(kind, [("t", [0])]).value["t"]
        if error is None and kind is ElectionType.PREFERRED and not leaderless:
            assert self.partition.leader in self.alive

    @rule()
    def elect_preferred(self) -> None:
        _ = self.controller.elect_preferred_leaders().value

    @rule()
    def elect_unclean(self) -> None:
        _ = self.controller.elect_unclean_leaders().value

    @rule(allowed=st.booleans())
    def allow_unclean(self, allowed: bool) -> None:
        alter(self.controller, TOPIC_RESOURCE, "t", unclean_leader_election_enable=str(allowed).lower())

    @rule(min_isr=st.integers(1, 3))
    def another_min_isr(self, min_isr: int) -> None:
        alter(self.controller, TOPIC_RESOURCE, "t", min_insync_replicas=str(min_isr))

    @invariant()
    def lists_fit(self) -> None:
        now = self.partition
        isr, eligible, replicas = set(now.isr), set(now.eligible_leader_replicas), set(now.replicas)
        assert len(isr) == len(now.isr)
        assert len(replicas) == len(now.replicas) == len(now.directories)
        assert isr <= replicas
        assert not isr & eligible
        assert eligible <= replicas
        assert set(now.adding_replicas) <= replicas
        assert set(now.removing_replicas) <= replicas
        assert len(now.last_known_elr) <= 1
        if not self.elr:
            assert not eligible
            assert isr

    @invariant()
    def the_leader_lives_and_is_in_sync(self) -> None:
        now = self.partition
        assert now.leader == NO_LEADER or now.leader in set(now.isr) & self.alive
        if self.elr and now.leader == NO_LEADER:
            assert now.isr in ([], self.taken_back_to)
        if now.leader_recovery_state == RECOVERING:
            assert len(now.isr) <= 1

    @invariant()
    def epochs_rise(self) -> None:
        now, before = self.partition, self.before
        if now is not before:
            assert now.partition_epoch > before.partition_epoch
        assert now.leader_epoch >= before.leader_epoch
        if now.leader != before.leader:
            assert now.leader_epoch > before.leader_epoch
        self.before = now

    @invariant()
    def a_clean_leader_has_what_was_committed(self) -> None:
        now = self.partition
        if now.leader_recovery_state == RECOVERING:
            self.complete = set(now.isr)
        if not self.elr or now.leader == NO_LEADER:
            return
        assert now.leader in self.complete
        if len(now.isr) >= self.control.min_isr(self.controller.image.topics["t"]):
            self.complete &= set(now.isr)  # records are committed without the others

    def teardown(self) -> None:
        """The records alone make the same image."""
        if hasattr(self, "controller"):
            again = replayed(records_in(self.controller.log))
            assert again.partition("t", 0) == self.partition
            assert again.brokers == self.controller.image.brokers


Replication.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
TestReplication = Replication.TestCase


#: Each rule and what it is without: module, text, and the text in its place. The text occurs once.
MUTATIONS: dict[str, tuple[ModuleType, str, str]] = {
    "who is eligible leads if nobody is in sync": (partition_changes, "target.isr or eligible", "target.isr"),
    "a leader runs": (partition_changes, "if replica in complete and around.may_lead(replica)", "if replica in complete"),
    "a leader is complete": (partition_changes, "if replica in complete and around.may", "if around.may"),
    "the last known leader is the last resort": (partition_changes, "keeps_eligible and not complete and", "keeps_eligible and"),
    "it must run": (partition_changes, "if around.may_lead(last_leader):", "if True:"),
    "an unclean election is asked for": (partition_changes, "if election is Election.UNCLEAN:", "if True:"),
    "and then takes place": (partition_changes, "if election is Election.UNCLEAN:", "if False:"),
    "its leader recovers": (partition_changes, "record.leader_recovery_state = RECOVERING", "pass"),
    "its leader is alone": (partition_changes, "isr, eligible = [elected.leader], []", "eligible = []"),
    "nobody is eligible beside a large ISR": (partition_changes, "if len(target.isr) >= around.min_isr:", "if False:"),
    "nor after an unclean shutdown": (partition_changes, ", *target.after_unclean_shutdown}", "}"),
    "nor if it was removed": (partition_changes, "if each in target.replicas and each", "if each"),
    "who led last is noted": (partition_changes, "record.last_known_elr = [before.leader]", "pass"),
    "and forgotten": (partition_changes, "record.last_known_elr = []", "pass"),
    "an eligible leader is the ISR": (partition_changes, "isr = [elected.leader]\n            eligible.", "eligible."),
    "a removed replica needs a new epoch": (
        partition_changes,
        "<= set(target.replicas):\n        return True",
        "<= set(target.replicas):\n        return False",
    ),
    "a reassignment waits for its copies": (assignments, "not needed <= set(in_sync)", "False"),
    "another leader's time is over": (alter_partition, "wanted.leader_epoch < partition.leader_epoch", "False"),
    "only a leader asks": (alter_partition, "broker_id != partition.leader", "False"),
    "of the present state": (alter_partition, "wanted.partition_epoch < partition.partition_epoch", "False"),
    "and not of a later one": (alter_partition, "wanted.leader_epoch > partition.leader_epoch or", ""),
    "members are replicas": (alter_partition, "not set(isr) <= set(partition.replicas) or", ""),
    "each once": (alter_partition, "len(set(isr)) < len(isr) or", ""),
    "the leader is one": (alter_partition, "or partition.leader not in isr", ""),
    "members run": (alter_partition, "and broker.active", ""),
    "and did not restart": (alter_partition, "and member.broker_epoch in (_UNKNOWN_EPOCH, broker.epoch)", ""),
    "a leader that recovers is alone": (alter_partition, "len(isr) > 1 or", ""),
    "the asking broker did not restart": (alter_partition, "check_epoch(control.image", "(lambda *_: None)(control.image"),
    "who lost leadership learns it": (alter_partition, "record.leader not in (NO_LEADER_CHANGE, broker_id)", "False"),
    "an unclean shutdown is one": (own_stores, "known.epoch == broker.previous_epoch", "True"),
    "a clean one is one": (own_stores, "known.epoch == broker.previous_epoch", "False"),
    "a stopping broker leaves each ISR": (own_stores, "[leaving(broker), *changes]", "[leaving(broker)]"),
    "a fenced one, too": (own_stores, "[*changes, fencing(broker)]", "[fencing(broker)]"),
    "a broker leads what had no leader": (own_stores, "yield from draft.add_each(changes)", "yield from draft.add_each([])"),
    "only topics that allow it elect uncleanly": (replication_control, 'lower() == "true"', 'lower() != ""'),
    "as they say": (replication_control, 'lower() == "true"', 'lower() == "?"'),
}  # fmt: skip


@pytest.mark.parametrize("rule", MUTATIONS)
def test_each_rule_is_needed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    switch_off(*MUTATIONS[rule], monkeypatch)
    assert is_noticed()


def switch_off(module: ModuleType, text: str, instead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the functions of a module have the code that they would have with another text."""
    source = inspect.getsource(module)
    assert source.count(text) == 1
    changed: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source.replace(text, instead), str(module.__file__), "exec"), changed)
    for name, function in functions(vars(module), module.__name__):
        other = dict(functions(changed, module.__name__))[name]
        monkeypatch.setattr(function, "__code__", other.__code__)


def functions(namespace: dict[str, Any], module: str) -> Iterator[tuple[str, FunctionType]]:
    """Those that a module defines, and those of its classes."""
    for name, value in namespace.items():
        if isinstance(value, FunctionType) and value.__module__ == module:
            yield name, value
        elif isinstance(value, type) and value.__module__ == module:
            found = {key: getattr(each, "__func__", each) for key, each in vars(value).items()}
            yield from (
                (f"{name}.{key}", each)
                for key, each in found.items()
                if isinstance(each, FunctionType) and not key.startswith("__")
            )


def is_noticed() -> bool:
    """Whether a story of brokers, a refusal, or the model shows a difference."""
    stories = [
        each for name, each in vars(test_own_stores).items() if name.startswith("test_") and not _parameters(each)
    ]
    refusals = test_alter_partition.test_refusals
    with contextlib.suppress(Exception, pytest.fail.Exception):
        for story in stories:
            story()
        test_alter_partition.test_a_fenced_broker_that_still_leads_by_its_own_view_is_refused(four_brokers())
        test_alter_partition.test_a_replica_that_restarted_since_the_leader_saw_it_cannot_join(four_brokers())
        for error, given in refusals.pytestmark[0].args[1]:
            refusals(four_brokers(), error, given)
        test_remote_brokers.test_who_did_not_stop_cleanly_is_no_more_eligible(
            make_replicating_controller(1), clean=False
        )
        run_state_machine_as_test(Replication, settings=WITHOUT_SHRINKING)
        return False
    return True


WITHOUT_SHRINKING = settings(max_examples=60, deadline=None, database=None, derandomize=True, phases=[Phase.generate])


def four_brokers() -> Controller:
    return cast("Controller", test_alter_partition.controller.__wrapped__())


def _parameters(test: Any) -> int:
    return len(inspect.signature(test).parameters)
