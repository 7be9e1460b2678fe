"""Queries and waits of a test, instead of sleeps: topics, records, groups and transactions.

They run on the brokers' thread, without a client or a connection. ``wait_for_...`` return in the turn in which the condition
holds, and raise TimedOut with the last state after ``timeout`` seconds of real time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from pykbroker.controller.topics import NewTopic
from pykbroker.seeding import dumping
from pykbroker.seeding.dumping import check_topic
from pykbroker.testing import records
from pykbroker.testing.access import Access
from pykbroker.testing.records import Bytes, Headers, Record
from pykbroker.testing.waiting import Seen

if TYPE_CHECKING:
    import os

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.controller.mutation_quotas import Charged
    from pykbroker.runtime.waits import Deferred
    from pykbroker.seeding.loading import LoadedSeed
    from pykbroker.seeding.reading import Seedable
    from pykbroker.seeding.seed import Seed
    from pykbroker.testing.client_metrics import ClientMetric
    from pykbroker.testing.groups import Group, Partitions, Transaction
    from pykbroker.testing.schemas import Schemas
    from pykbroker.testing.share_groups import ShareGroupStatus
    from pykbroker.wire.errors import KafkaError

T = TypeVar("T")

#: The default timeout of a wait, in seconds: a real client needs some for a rebalance.
TIMEOUT_S: Final = 10.0
_GROUP_STATES: Final = (
    *("Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Stable", "Dead"),
)
_ENDED: Final = ("CompleteCommit", "CompleteAbort")
_TRANSACTION_STATES: Final = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", *_ENDED, "PrepareEpochFence", "Dead"),
)


class Queries(Access):
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
        """Create a topic; -1 means the broker's default. It exists when this returns. Raises the KafkaError with which Kafka
        refuses a topic.
        """
        texts = {setting: _as_text(value) for setting, value in (configs or {}).items()}
        new = NewTopic(name, partitions, replication_factor, configs=texts)
        (result,) = self._ask_later(lambda cluster: cluster.controller.create_topics([new])).result
        records.raise_refusal(result.error, f"topic {name} cannot be created")

    def delete_topic(self, name: str) -> None:
        """Delete a topic; it is gone when this returns. Raises LookupError if it does not exist."""

        def delete(cluster: Cluster) -> Deferred[Charged[dict[bytes, KafkaError | None]]]:
            check_topic(cluster, name)
            return cluster.controller.delete_topics([cluster.metadata.image.topics[name].id])

        (error,) = self._ask_later(delete).result.values()
        records.raise_refusal(error, f"topic {name} cannot be deleted")

    def topics(self, *, internal: bool = False) -> dict[str, int]:
        """The topics with their numbers of partitions; internal ones on request."""

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
        """Append a record and return it as it is in the log. Text is encoded in UTF-8; without ``partition`` the key decides, as
        in Java's client; a missing topic is created if ``auto.create.topics.enable`` is on. Raises LookupError for an unknown
        topic or partition, and KafkaError with the code with which the record is refused.
        """
        named = {"key": key, "headers": headers, "partition": partition, "timestamp_ms": timestamp_ms}
        return self._ask_later(records.produce, topic, value, **named)

    @property
    def schemas(self) -> Schemas:
        """The schemas of its registry: registered, read, and used for values (``Kafka(schema_registry=True)``). A reset begins them
        anew: ask for this again after it. Raises RuntimeError without ``schema_registry``.
        """
        from pykbroker.testing.schemas import Schemas

        return Schemas(self.schema_registry_url, self._authority)

    def records(self, topic: str, partition: int | None = None, *, decode: bool = False) -> list[Record]:
        """The records of a topic, or of one partition, as a consumer with read_committed sees them, by partition and offset. With
        ``decode`` each has its value as ``decoded``, by the schema whose id the value begins with. Raises LookupError if the topic does
        not exist, and ValueError for a value that is not of its schema.
        """

        def read(cluster: Cluster) -> list[Record]:
            check_topic(cluster, topic)
            return list(records.Reader(cluster, topic, partition).read())

        found = self._ask(read)
        if not decode:
            return found
        schemas = self.schemas
        return [replace(record, decoded=schemas.decode(record.value)) for record in found]

    def wait_for_record(
        self,
        topic: str,
        where: Callable[[Record], object] = lambda _: True,
        *,
        key: Bytes = None,
        value: Bytes = None,
        timeout: float = TIMEOUT_S,
    ) -> Record:
        """Wait for a record with this key and value (if given) for which ``where`` is true; returns the first one, existing or
        new. ``where`` is called on the broker's thread. The topic need not exist yet.
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
        """Wait for ``count`` records for which ``where`` is true; returns them."""
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

    def seed(self, given: Seedable) -> LoadedSeed:
        """Create topics and records from a .yaml, .json, .jsonl or .csv file, a folder of them, or an equivalent object. They exist
        when this returns. Raises BadSeed with the place of the error and what to write instead.
        """
        from pykbroker.seeding.loading import load_seed

        return self._ask_later(load_seed, read_seed(given))

    def export(self, path: str | os.PathLike[str], *topics: str, form: str = "jsonl") -> None:
        """Write these topics, or all but internal ones, with their committed records: to a .yaml, .json, .jsonl or .csv file, or to
        a folder with topics.json and a file of ``form`` for each topic. A CSV file has records only. Raises ValueError for a
        name without a known suffix, and LookupError for an unknown topic.
        """
        from pykbroker.seeding import writing

        target = Path(path)
        writing.check(target, form)
        writing.write(self._ask(dumping.dump_seed, topics), target, form)

    def wait_for_in_sync(self, topic: str | None = None, *, timeout: float = TIMEOUT_S) -> None:
        """Wait until the replicas on running brokers are in sync, of a topic or of all: after a broker has started again."""

        def look(cluster: Cluster) -> Seen[list[str]]:
            behind = [
                f"{each.topic}-{each.index}: {sorted(each.isr)} of {sorted(each.replicas)}"
                for each in cluster.partitions()
                if topic in (None, each.topic) and not (set(each.replicas) & cluster.brokers.keys()) <= set(each.isr)
            ]
            return Seen(behind, met=not behind)

        self._wait(look, "not all replicas are in sync", timeout)

    # ---- groups ------------------------------------------------------------------------------------------------------

    def group(self, group_id: str) -> Group:
        """The present state of a group; ``Dead`` if it does not exist."""
        from pykbroker.testing import groups

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
        """Wait until the group has all that is given: its state (Kafka's name), its number of members, the partitions assigned to
        its members, and ``where``, which is called on the broker's thread. Returns the group. Raises ValueError for an
        unknown state.
        """
        from pykbroker.testing import groups

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
        from pykbroker.testing import groups

        return self._ask(groups.committed, group_id)

    def wait_for_committed(
        self, group_id: str, topic: str, offset: int, *, partition: int = 0, timeout: float = TIMEOUT_S
    ) -> int:
        """Wait until the committed offset of a partition is ``offset`` or more; returns it."""
        from pykbroker.testing import groups

        def look(cluster: Cluster) -> Seen[int | None]:
            seen = groups.committed(cluster, group_id).get((topic, partition))
            return Seen(seen, met=seen is not None and seen >= offset)

        what = f"group {group_id} has not committed offset {offset} of {topic}-{partition}"
        return self._wait(look, what, timeout) or 0

    def wait_for_lag(
        self, group_id: str, topic: str | None = None, *, lag: int = 0, timeout: float = TIMEOUT_S
    ) -> dict[tuple[str, int], int]:
        """Wait until a group lags by at most ``lag`` in every partition of a topic, or of all topics with committed offsets;
        returns the lag by topic and partition.
        """
        from pykbroker.testing import groups

        def look(cluster: Cluster) -> Seen[dict[tuple[str, int], int]]:
            seen = groups.lags(cluster, group_id, topic)
            return Seen(seen, met=bool(seen) and max(seen.values()) <= lag)

        about = "" if topic is None else f" of {topic}"
        return self._wait(look, f"group {group_id} is more than {lag} behind{about}", timeout)

    # ---- share groups ------------------------------------------------------------------------------------------------

    def share_group(self, group_id: str) -> ShareGroupStatus:
        """The present state of a share group: members, and by partition where it is and what they have acquired. ``Dead`` if it does
        not exist.
        """
        from pykbroker.testing import share_groups

        return self._ask(share_groups.share_group, group_id)

    def wait_for_share_group(
        self, group_id: str, where: Callable[[ShareGroupStatus], object], *, timeout: float = TIMEOUT_S
    ) -> ShareGroupStatus:
        """Wait until a share group is as wanted: ``lambda group: group.lag == 0``. Returns it."""
        from pykbroker.testing import share_groups

        def look(cluster: Cluster) -> Seen[ShareGroupStatus]:
            seen = share_groups.share_group(cluster, group_id)
            return Seen(seen, met=bool(where(seen)))

        return self._wait(look, f"share group {group_id} is not as wanted", timeout)

    # ---- transactions ------------------------------------------------------------------------------------------------

    def transaction(self, transactional_id: str) -> Transaction:
        """The present state of a transactional id; ``Dead`` if it does not exist."""
        from pykbroker.testing import groups

        return self._ask(groups.transaction, transactional_id)

    def wait_for_transaction(self, transactional_id: str, *states: str, timeout: float = TIMEOUT_S) -> Transaction:
        """Wait until a transactional id has one of these states (Kafka's names); without any, until its transaction has ended, with
        markers in all partitions. Returns it. Raises ValueError for an unknown state.
        """
        from pykbroker.testing import groups

        for state in states:
            _check_state(state, _TRANSACTION_STATES)
        wanted = states or _ENDED

        def look(cluster: Cluster) -> Seen[Transaction]:
            seen = groups.transaction(cluster, transactional_id)
            return Seen(seen, met=seen.state in wanted)

        return self._wait(look, f"transaction {transactional_id} is not {' or '.join(wanted)}", timeout)

    # ---- metrics of clients --------------------------------------------------------------------------------------------

    def subscribe_client_metrics(
        self, *metrics: str, interval_ms: int = 1000, match: Mapping[str, str] | None = None, name: str = "test"
    ) -> None:
        """Ask clients that start from now on for their metrics (KIP-714): those whose names begin so, or all of Kafka's own. ``match``
        has patterns by property: ``{"client_id": "billing-.*"}``. Raises KafkaError INVALID_REQUEST for an invalid interval,
        INVALID_CONFIG for an invalid pattern, and WrongBroker if no broker runs.
        """
        from pykbroker.testing import client_metrics

        self._ask_later(client_metrics.subscribe, name, metrics or ("org.apache.kafka.",), interval_ms, match or {})

    def client_metrics(self, client_id: str | None = None, prefix: str = "") -> list[ClientMetric]:
        """The newest values of the metrics that clients have sent: of one client id or of all, with names that begin so."""
        from pykbroker.testing import client_metrics

        return self._ask(client_metrics.received, client_id, prefix)

    def wait_for_client_metrics(
        self, client_id: str | None = None, prefix: str = "", *, timeout: float = TIMEOUT_S
    ) -> list[ClientMetric]:
        """Wait until a client has sent such metrics; returns them."""
        from pykbroker.testing import client_metrics

        def look(cluster: Cluster) -> Seen[list[ClientMetric]]:
            seen = client_metrics.received(cluster, client_id, prefix)
            return Seen(seen, met=bool(seen))

        of_whom = "no client has" if client_id is None else f"client {client_id} has not"
        return self._wait(look, f"{of_whom} sent metrics {prefix}*", timeout)

    # ---- anything else ---------------------------------------------------------------------------------------------------

    def wait_until(self, look: Callable[[Cluster], T], *, timeout: float = TIMEOUT_S) -> T:
        """Wait until ``look`` returns something true; returns that. It is called on the broker's thread with the cluster, after
        each turn of the loop.
        """

        def seen(cluster: Cluster) -> Seen[T]:
            value = look(cluster)
            return Seen(value, met=bool(value))

        return self._wait(seen, "what was waited for is not so", timeout)


def read_seed(given: Seedable) -> Seed:
    """Read a seed from a path or an object. Raises BadSeed, OSError, or ModuleNotFoundError for YAML without its package."""
    from pykbroker.seeding.reading import read

    return read(given)


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_state(state: str | None, known: Sequence[str]) -> None:
    if state is not None and state not in known:
        near = get_close_matches(state, known, 1)
        raise ValueError(f"Kafka has no state {state!r}; write {near[0] if near else ' or '.join(known)}")
