"""What clients did and were told: the other side of every check."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import NamedTuple, Protocol

TopicPartition = tuple[str, int]


class TopicIds(NamedTuple):
    """The id of a topic of a name: as a client knows it, and as the brokers have it; None where there is none.

    A client may take a partition of a topic that was made anew since its metadata, so neither tells alone which topic it is.
    """

    known: bytes | None
    present: bytes | None


class Holder(Protocol):
    """A member of a group that may use partitions."""

    name: str
    instance_id: str | None

    @property
    def rebalancing(self) -> bool:
        """Whether it waits for a new assignment of the classic protocol."""
        ...

    def holds_still(self, now_ms: int) -> bool:
        """Whether the coordinator must still think so."""
        ...


class Fate(Enum):
    """What readers may see of a transaction's records."""

    ALL = "all"
    NONE = "none"
    #: All or nothing: the answer to the commit was lost, or its client crashed.
    EITHER = "either"


class SentTransaction:
    """One transaction as its producer saw it."""

    def __init__(self, history: History, name: str, began_ms: int) -> None:
        self.name = name
        self.began_ms = began_ms
        self._history = history
        #: Every record it sent, whether or not it was answered.
        self.records: list[tuple[TopicPartition, bytes]] = []
        #: Value to the offset of its batch, of what was answered.
        self.offsets: dict[bytes, int] = {}
        self.fate = Fate.NONE
        self._committing = False
        self._unanswered = False

    def sending(self, where: TopicPartition, values: list[bytes]) -> None:
        """A batch is sent for the first time."""
        for value in values:
            self.records.append((where, value))
            self._history.transaction_of[value] = self

    def acknowledged(self, values: list[bytes], offset: int) -> None:
        """A batch was answered with the offset of its first record."""
        self.offsets.update((value, offset + number) for number, value in enumerate(values))

    def ending(self, *, commit: bool) -> None:
        """EndTxn is sent for the first time."""
        self._committing = commit
        if commit:
            self.fate = Fate.EITHER

    def answer_lost(self) -> None:
        """EndTxn may have been carried out."""
        self._unanswered = True

    def refused(self) -> None:
        """EndTxn was refused for good: the transaction is aborted, unless an earlier try of it was carried out."""
        if not self._unanswered:
            self.fate = Fate.NONE

    def ended(self) -> None:
        """EndTxn was answered without an error."""
        self.fate = Fate.ALL if self._committing else Fate.NONE


class History:
    """See the module. Values are unique over all topics."""

    def __init__(self) -> None:
        #: What contradicts the rules, in words; it should stay empty.
        self.wrongs: list[str] = []
        #: How often what happened.
        self.counts: Counter[str] = Counter()
        self.transactions: list[SentTransaction] = []
        #: Value to the transaction it was sent in.
        self.transaction_of: dict[bytes, SentTransaction] = {}
        #: Values that idempotent producers sent outside of transactions, in order, per partition and producer.
        self.sent: dict[tuple[TopicPartition, bytes], list[bytes]] = {}
        #: Offset to value of what was acknowledged outside of transactions, per partition.
        self.acknowledgements: dict[TopicPartition, dict[int, bytes]] = {}
        #: What members of a group read, per group.
        self.read: dict[str, set[bytes]] = {}
        #: Group, generation (or epoch) and partition to the member that was given it.
        self.owners: dict[tuple[str, int, TopicPartition], str] = {}
        #: Groups, and groups' partitions, whose committed offsets a client has asked to set back.
        self.set_back: set[str | tuple[str, TopicPartition]] = set()
        #: Group and partition to the member that uses it, and the topic's ids then: as it knows it, and the brokers'.
        self.holders: dict[tuple[str, TopicPartition], tuple[Holder, TopicIds]] = {}

    def wrong(self, what: str) -> None:
        """Something that must not happen has happened."""
        self.wrongs.append(what)

    def count(self, what: str) -> None:
        """Something worth counting has happened."""
        self.counts[what] += 1

    # Producers

    def begin(self, transactional_id: str, now_ms: int) -> SentTransaction:
        """A producer begins a transaction."""
        transaction = SentTransaction(self, f"{transactional_id}#{len(self.transactions)}", now_ms)
        self.transactions.append(transaction)
        return transaction

    def sending(self, where: TopicPartition, values: list[bytes]) -> None:
        """A batch of an idempotent producer is sent for the first time; values are ``producer/number/part``."""
        self.sent.setdefault((where, values[0].split(b"/")[0]), []).extend(values)

    def acknowledged(self, where: TopicPartition, offset: int, values: list[bytes]) -> None:
        """A batch of an idempotent producer was answered with the offset of its first record."""
        known = self.acknowledgements.setdefault(where, {})
        for number, value in enumerate(values):
            if known.setdefault(offset + number, value) != value:
                self.wrong(
                    f"{value!r} and {known[offset + number]!r} were both acknowledged as {where} {offset + number}"
                )

    # Consumers

    def assigned(self, group: str, generation: int, member: str, partitions: list[TopicPartition]) -> None:
        """A member was told its share of a generation."""
        for where in partitions:
            owner = self.owners.setdefault((group, generation, where), member)
            if owner != member:
                self.wrong(f"{owner} and {member} both own {where} in generation {generation} of {group}")

    def consumed(self, group: str, value: bytes) -> None:
        """A member read a record as committed."""
        self.read.setdefault(group, set()).add(value)
        self.saw(value)

    def saw(self, value: bytes) -> None:
        """Somebody read a record as committed."""
        transaction = self.transaction_of.get(value)
        if transaction is not None and transaction.fate is Fate.NONE:
            self.wrong(f"{value!r} was read as committed, but {transaction.name} was not")

    def taken(self, group: str, where: TopicPartition, member: Holder, now_ms: int, ids: TopicIds) -> None:
        """A member begins to use a partition. Whoever used it before must have let go, or one of the two has been silent
        for so long that it is out of the group and does not know it, or the topic is a new one of the name. Of a
        static member nothing can be said: another may have come under its name.
        """
        if not member.holds_still(now_ms):
            return
        other, ids_before = self.holders.get((group, where), (None, None))
        self.holders[group, where] = member, ids
        if other is None or other is member or not other.holds_still(now_ms):
            return
        if other.rebalancing and type(other) is not type(member):
            return  # Kafka forgets the assignments of a classic rebalance that is interrupted; then a group is upgraded
        if other.instance_id is None and ids == ids_before:
            self.wrong(f"{now_ms}: {member.name} uses {where} of {group}, which {other.name} has not given back")

    def released(self, group: str, where: TopicPartition, member: Holder) -> None:
        """A member has let go of a partition."""
        if self.holders.get((group, where), (None, None))[0] is member:
            del self.holders[group, where]

    def set_back_to(self, group: str, where: TopicPartition) -> None:
        """A client is about to go on from where it was before: its next commit may go back."""
        self.set_back.add((group, where))

    def deleting(self, group: str) -> None:
        """An administrator is about to delete a group, with all that it has committed."""
        self.forgotten(group)
        self.set_back.add(group)

    def forgotten(self, group: str) -> None:
        """The group is no more; where it comes again, its generations begin anew."""
        self.owners = {key: owner for key, owner in self.owners.items() if key[0] != group}

    def may_go_back(self, group: str, where: TopicPartition) -> bool:
        """Whether a client has asked for that at any time."""
        return group in self.set_back or (group, where) in self.set_back
