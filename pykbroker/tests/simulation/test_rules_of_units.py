"""Rules that no small world notices: each is switched off under the unit test that shows it.

Their harm needs what no world has, or is no loss of what was acknowledged: a longer wait, another error.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

from pykbroker.controller import alter_partition, reassignments
from pykbroker.controller.controller import Controller
from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.groups.consumer import checking
from pykbroker.coordination.transactions import adding
from pykbroker.coordination.transactions.transaction import Transaction
from pykbroker.partitions.partition import Partition
from pykbroker.replication.isr import Isr, IsrMember, ProposedIsr
from pykbroker.replication.leading import Leading
from pykbroker.storage.log import fetched
from pykbroker.storage.log.log import Log
from pykbroker.storage.log.producers import Producers
from pykbroker.tests.brokers import test_replica_manager
from pykbroker.tests.controller import test_alter_partition, test_reassignments
from pykbroker.tests.coordination.groups.consumer import test_heartbeats
from pykbroker.tests.coordination.groups.consumer.harness import ConsumerHarness
from pykbroker.tests.coordination.transactions import test_admitting_hanging, test_ending
from pykbroker.tests.kit.metadata import make_controller, make_replicating_controller
from pykbroker.tests.replication import test_leading
from pykbroker.tests.storage.log import test_fetched, test_producers
from pykbroker.tests.storage.support import Store
from pykbroker.wire.batch_header import BatchHeader
from pykbroker.wire.control_records import EndTxnMarker

#: Later than any time and epoch of these tests.
_LAST = 2**31 - 1


class Rule(NamedTuple):
    """Where it is, what takes its place, and the unit test that shows it, with what makes its arguments."""

    owner: Any
    name: str
    without: Any
    shown: Callable[..., None]
    given: Callable[[], tuple[Any, ...]] = tuple
    #: What the unit test meets without the rule.
    fails: tuple[type[BaseException], ...] = (AssertionError, pytest.fail.Exception)


def _controller() -> tuple[Controller]:
    controller = make_replicating_controller(3)
    controller.create_topics([NewTopic("t", -1, -1, [(0, [1, 2, 3])])])
    return (controller,)


def _sharing_controller() -> tuple[Controller]:
    controller = make_controller(3)
    controller.create_topics([NewTopic("t", -1, -1, [(0, [1]), (1, [2])])])
    return (controller,)


def _group() -> tuple[ConsumerHarness]:
    harness = ConsumerHarness()
    harness.topic("t", 4)
    return (harness,)


def _log() -> tuple[Log]:
    return (Store().log(),)


def _anything(*_: Any) -> None:
    return None


def _without_epochs(self: Isr, members: Iterable[IsrMember]) -> ProposedIsr:
    return _propose(self, [member._replace(broker_epoch=-1) for member in members])


def _who_joins_has_lagged(self: Leading, log_end: int, _: int) -> int:
    return _high_watermark(self, log_end, _LAST)


def _of_every_epoch(records: Any, _: int, log_name: str) -> Any:
    return _fetched_batches(records, _LAST, log_name)


def _of_the_last_coordinator(
    self: Producers, header: BatchHeader, marker: EndTxnMarker, transaction_version: int = 0
) -> None:
    _check_marker(self, header, dataclasses.replace(marker, coordinator_epoch=_LAST), transaction_version)


def _of_ended_epochs(self: Producers, header: BatchHeader, marker: EndTxnMarker, transaction_version: int = 0) -> None:
    epoch = self.entries[header.producer_id].epoch if header.producer_id in self.entries else -1
    if header.producer_epoch < epoch:
        header = dataclasses.replace(header, producer_epoch=epoch + 1)
    _check_marker(self, header, marker, transaction_version)


def _of_version_1(self: Producers, header: BatchHeader, marker: EndTxnMarker, transaction_version: int = 0) -> None:
    _check_marker(self, header, marker, min(transaction_version, 1))


def _no_marker_came(self: Log, producer_id: int, guard: object) -> bool:
    _unguard(self, producer_id, guard)
    return True


def _of_any_epoch(transaction: Transaction | None, producer_id: int, epoch: int) -> Transaction:
    return _current(transaction, producer_id, epoch if transaction is None else transaction.producer_epoch)


def _taken_back_anyway(topic: Any, partition: Any, *, unclean: bool = False) -> Any:
    del unclean
    return _taken_back(topic, partition, unclean=True)


_taken_back = reassignments._taken_back
_propose, _high_watermark, _fetched_batches = Isr.propose, Leading.high_watermark, fetched.fetched_batches
_check_marker, _unguard, _current = Producers.check_marker, Log.unguard, adding._current

RULES: dict[str, Rule] = {
    "who is proposed is named with an epoch (KIP-903)": Rule(
        Isr, "propose", _without_epochs, test_leading.test_a_follower_that_has_everything_joins
    ),
    "who is about to join holds up the high watermark": Rule(
        Leading,
        "high_watermark",
        _who_joins_has_lagged,
        test_leading.test_a_replica_out_of_sync_holds_nothing_up_until_it_is_caught_up,
    ),
    "the controller compares the broker epoch of AlterPartition": Rule(
        alter_partition,
        "check_epoch",
        _anything,
        test_alter_partition.test_a_fenced_broker_that_still_leads_by_its_own_view_is_refused,
        _controller,
    ),
    "a reassignment is not taken back from the last in sync": Rule(
        reassignments,
        "_taken_back",
        _taken_back_anyway,
        test_reassignments.test_a_move_that_took_the_leadership_over_cannot_be_taken_back,
        _sharing_controller,
    ),
    "a batch of a later epoch than was asked ends an answer (KAFKA-18723)": Rule(
        fetched,
        "fetched_batches",
        _of_every_epoch,
        test_fetched.test_a_batch_of_a_later_epoch_ends_an_answer,
        lambda: ((Store().log(), Store(1).log()),),
    ),
    "too few in sync are told before an append": Rule(
        Partition,
        "check_enough_in_sync",
        _anything,
        test_replica_manager.test_too_few_in_sync,
        lambda: (test_replica_manager.OwnCopies(),),
        (RuntimeError,),  # there is no answer yet
    ),
    "an earlier coordinator ends no transaction": Rule(
        Producers,
        "check_marker",
        _of_the_last_coordinator,
        test_producers.test_markers_of_an_old_coordinator_or_epoch,
        _log,
    ),
    "a marker of an ended epoch ends no transaction": Rule(
        Producers, "check_marker", _of_ended_epochs, test_producers.test_markers_of_an_old_coordinator_or_epoch, _log
    ),
    "a transaction of version 2 ends with a higher epoch (KIP-890)": Rule(
        Producers, "check_marker", _of_version_1, test_producers.test_transactions_of_version_2_end_with_a_higher_epoch
    ),
    "a marker takes away what was verified before it (KIP-890)": Rule(
        Log,
        "unguard",
        _no_marker_came,
        test_admitting_hanging.test_a_marker_between_the_verification_and_the_batch,
        lambda: (True, pytest.MonkeyPatch()),
    ),
    "partitions are added in the epoch of the producer": Rule(
        adding, "_current", _of_any_epoch, test_ending.test_who_may_add_and_ask
    ),
    "a heartbeat has the epoch of its member (KIP-848)": Rule(
        checking, "check_epoch", _anything, test_heartbeats.test_epochs_that_are_not_the_members, _group
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_each_rule_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = RULES[name]
    rule.shown(*rule.given())
    monkeypatch.setattr(rule.owner, rule.name, rule.without)
    with pytest.raises(rule.fails):
        rule.shown(*rule.given())
