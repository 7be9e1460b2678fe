"""What a test asks of its brokers instead of sleeping: topics, records, groups and transactions, at once or awaited.

All of it is done on the brokers' own thread, without a client and without a connection. ``wait_for_...`` come back at the
turn in which it is so, and raise TimedOut with what was seen last after ``timeout`` seconds of real time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from pykbroker.controller.topics import NewTopic
from pykbroker.seeding.harvesting import check_topic
from pykbroker.testing import records
from pykbroker.testing.access import Access
from pykbroker.testing.records import Bytes, Headers, Record
from pykbroker.testing.waiting import Seen

if TYPE_CHECKING:
    import os

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.runtime.waits import Deferred
    from pykbroker.seeding.reading import Seedable
    from pykbroker.seeding.seed import Seed
    from pykbroker.seeding.sowing import Sown
    from pykbroker.testing.groups import Group, Partitions, Transaction
    from pykbroker.wire.errors import KafkaError

T = TypeVar("T")

#: Seconds that a wait lasts at most, unless it is told otherwise: a real client needs some for a rebalance.
TIMEOUT_S: Final = 10.0
_GROUP_STATES: Final = (
    *("Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Stable", "Dead"),
)
_ENDED: Final = ("CompleteCommit", "CompleteAbort")
_TRANSACTION_STATES: Final = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", *_ENDED, "PrepareEpochFence", "Dead"),
)


class Asking(Access):
    """See the module."""

    # ---- topics ------------------------------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        *,
        replication_factor: int = -1,
        configs: Mapping[str, object] | None = None,
    ) -> None:
        """Create a topic; -1 stands for the broker's default. It is there when this returns. Raises the
        KafkaError with which Kafka refuses a topic.
        """
        texts = {setting: _as_text(value) for setting, value in (configs or {}).items()}
        new = NewTopic(name, partitions, replication_factor, configs=texts)
        (result,) = self._ask_later(lambda cluster: cluster.controller.create_topics([new]))
        records.raise_refusal(result.error, f"topic {name} cannot be created")

    def delete_topic(self, name: str) -> None:
        """Delete a topic; it is gone when this returns. Raises LookupError where there is none of this name."""

        def delete(cluster: Cluster) -> Deferred[dict[bytes, KafkaError | None]]:
            check_topic(cluster, name)
            return cluster.controller.delete_topics([cluster.metadata.image.topics[name].id])

        (error,) = self._ask_later(delete).values()
        records.raise_refusal(error, f"topic {name} cannot be deleted")

    def topics(self, *, internal: bool = False) -> dict[str, int]:
        """The topics there are, each with its number of partitions; Kafka's own only if asked for."""

        def look(cluster: Cluster) -> dict[str, int]:
            return {
                name: len(topic.partitions)
                for name, topic in sorted(cluster.metadata.image.topics.items())
                if internal or not name.startswith("__")
            }

        return self._ask(look)

    # ---- records -----------------------------------------------------------------------------------------------------

    def produce(
        self,
        topic: str,
        value: Bytes,
        *,
        key: Bytes = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Record:
        """Append a record, and return it as it lies there. Text is encoded in UTF-8; without ``partition`` the key decides,
        as in Java's clients; a missing topic is created where ``auto.create.topics.enable`` allows. Raises LookupError where
        there is no such topic or partition, and KafkaError where the record is refused.
        """
        named = {"key": key, "headers": headers, "partition": partition, "timestamp_ms": timestamp_ms}
        return self._ask_later(records.produce, topic, value, **named)

    def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """The records of a topic, or of one partition, that a consumer of committed records sees, by partition and offset.
        Raises LookupError where there is no such topic.
        """

        def read(cluster: Cluster) -> list[Record]:
            check_topic(cluster, topic)
            return list(records.Reader(cluster, topic, partition).read())

        return self._ask(read)

    def wait_for_record(
        self,
        topic: str,
        where: Callable[[Record], object] = lambda _: True,
        *,
        key: Bytes = None,
        value: Bytes = None,
        timeout: float = TIMEOUT_S,
    ) -> Record:
        """The first record with this key and value (whatever is given of them) for which ``where`` is true; of those that are
        there already, or come. ``where`` is called on the broker's thread. The topic need not be there yet.
        """
        raw_key, raw_value = records.as_bytes(key), records.as_bytes(value)

        def fits(record: Record) -> bool:
            right = raw_key in (None, record.key) and raw_value in (None, record.value)
            return right and bool(where(record))

        return self.wait_for_records(topic, 1, fits, timeout=timeout)[0]

    def wait_for_records(
        self,
        topic: str,
        count: int,
        where: Callable[[Record], object] = lambda _: True,
        *,
        timeout: float = TIMEOUT_S,
    ) -> list[Record]:
        """As soon as there are ``count`` records for which ``where`` is true: these."""
        found: list[Record] = []
        others: list[Record] = []
        reader: list[records.Reader] = []

        def look(cluster: Cluster) -> Seen[str]:
            if not reader:
                reader.append(records.Reader(cluster, topic))
            for record in reader[0].read():
                (found if where(record) else others).append(record)
            last = f", of the others the last {others[-1]}" if others else ""
            return Seen(f"{len(found)} of them and {len(others)} others{last}", met=len(found) >= count)

        self._wait(look, f"there were no {count} such records in {topic}", timeout)
        return found[:count]

    def seed(self, given: Seedable) -> Sown:
        """Put topics and records in: of a .yaml, .json, .jsonl or .csv file, a folder of them, or the object that a file would
        say. They are there when this returns. Raises BadSeed with the place of what is wrong and what to write instead.
        """
        from pykbroker.seeding.sowing import sow  # noqa: PLC0415 - start-up counts

        return self._ask_later(sow, read_seed(given))

    def export(self, path: str | os.PathLike[str], *topics: str, form: str = "jsonl") -> None:
        """Write these topics, or all but Kafka's own, with their committed records: to a .yaml, .json, .jsonl or .csv file, or
        to a folder with topics.json and a file of ``form`` for each topic. A CSV file has records alone. Raises ValueError
        for a name that says no form, and LookupError for a topic that is not there.
        """
        from pykbroker.seeding import harvesting, writing  # noqa: PLC0415 - start-up counts

        target = Path(path)
        writing.check(target, form)
        writing.write(self._ask(harvesting.harvest, topics), target, form)

    # ---- groups ------------------------------------------------------------------------------------------------------

    def group(self, group_id: str) -> Group:
        """A group as its coordinator knows it; its state is ``Dead`` where there is none."""
        from pykbroker.testing import groups  # noqa: PLC0415 - start-up counts

        return self._ask(groups.group, group_id)

    def wait_for_group(
        self,
        group_id: str,
        state: str | None = None,
        *,
        members: int | None = None,
        assigned: Mapping[str, Sequence[int]] | None = None,
        where: Callable[[Group], object] = lambda _: True,
        timeout: float = TIMEOUT_S,
    ) -> Group:
        """The group once all holds that is given: its state (Kafka's word), its number of members, the partitions that its
        members have together, and what ``where`` says, which is called on the broker's thread. Raises ValueError for a state
        that Kafka does not have.
        """
        from pykbroker.testing import groups  # noqa: PLC0415 - start-up counts

        _check_state(state, _GROUP_STATES)
        wanted: Partitions | None = None
        if assigned is not None:
            wanted = {topic: tuple(sorted(indexes)) for topic, indexes in assigned.items()}

        def look(cluster: Cluster) -> Seen[Group]:
            seen = groups.group(cluster, group_id)
            right = (
                state in (None, seen.state)
                and members in (None, len(seen.members))
                and wanted in (None, seen.assigned)
                and bool(where(seen))
            )
            return Seen(seen, met=right)

        said = {"state": state, "members": members, "assigned": assigned}
        wish = ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)
        return self._wait(look, f"group {group_id} is not as wanted ({wish or 'where'})", timeout)

    def committed(self, group_id: str) -> dict[tuple[str, int], int]:
        """The offsets that a group committed, by topic and partition."""
        from pykbroker.testing import groups  # noqa: PLC0415 - start-up counts

        return self._ask(groups.committed, group_id)

    def wait_for_committed(
        self, group_id: str, topic: str, offset: int, *, partition: int = 0, timeout: float = TIMEOUT_S
    ) -> int:
        """The committed offset of a partition once it is ``offset`` or more."""
        from pykbroker.testing import groups  # noqa: PLC0415 - start-up counts

        def look(cluster: Cluster) -> Seen[int | None]:
            seen = groups.committed(cluster, group_id).get((topic, partition))
            return Seen(seen, met=seen is not None and seen >= offset)

        what = f"group {group_id} has not committed offset {offset} of {topic}-{partition}"
        return self._wait(look, what, timeout) or 0

    def wait_for_lag(
        self, group_id: str, topic: str | None = None, *, lag: int = 0, timeout: float = TIMEOUT_S
    ) -> dict[tuple[str, int], int]:
        """How far a group's committed offsets are behind, by topic and partition, once no partition is more than ``lag``
        behind: of a topic, or of all that it committed offsets of.
        """
        from pykbroker.testing import groups  # noqa: PLC0415 - start-up counts

        def look(cluster: Cluster) -> Seen[dict[tuple[str, int], int]]:
            seen = groups.lags(cluster, group_id, topic)
            return Seen(seen, met=bool(seen) and max(seen.values()) <= lag)

        about = "" if topic is None else f" of {topic}"
        return self._wait(look, f"group {group_id} is more than {lag} behind{about}", timeout)

    # ---- transactions ------------------------------------------------------------------------------------------------

    def transaction(self, transactional_id: str) -> Transaction:
        """A transactional id as its coordinator knows it; its state is ``Dead`` where there is none."""
        from pykbroker.testing import groups  # noqa: PLC0415 - start-up counts

        return self._ask(groups.transaction, transactional_id)

    def wait_for_transaction(self, transactional_id: str, *states: str, timeout: float = TIMEOUT_S) -> Transaction:
        """A transactional id once its state (Kafka's word) is one of these; without any, once its transaction has ended:
        its markers are in all partitions. Raises ValueError for a state that Kafka does not have.
        """
        from pykbroker.testing import groups  # noqa: PLC0415 - start-up counts

        for state in states:
            _check_state(state, _TRANSACTION_STATES)
        wanted = states or _ENDED

        def look(cluster: Cluster) -> Seen[Transaction]:
            seen = groups.transaction(cluster, transactional_id)
            return Seen(seen, met=seen.state in wanted)

        return self._wait(look, f"transaction {transactional_id} is not {' or '.join(wanted)}", timeout)

    # ---- whatever else ---------------------------------------------------------------------------------------------------

    def wait_until(self, look: Callable[[Cluster], T], *, timeout: float = TIMEOUT_S) -> T:
        """What ``look`` returns once that is true. It is called on the broker's thread with the cluster itself, after each
        turn in which something happened.
        """

        def seen(cluster: Cluster) -> Seen[T]:
            value = look(cluster)
            return Seen(value, met=bool(value))

        return self._wait(seen, "what was waited for is not so", timeout)


def read_seed(given: Seedable) -> Seed:
    """A seed of whatever it is given as. Raises BadSeed, OSError, or ModuleNotFoundError for YAML without its package."""
    from pykbroker.seeding.reading import read  # noqa: PLC0415 - start-up counts

    return read(given)


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_state(state: str | None, known: Sequence[str]) -> None:
    if state is not None and state not in known:
        near = get_close_matches(state, known, 1)
        raise ValueError(f"Kafka has no state {state!r}; write {near[0] if near else ' or '.join(known)}")
