"""What became of records between topics, judged by a test."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING

from pykbroker.testing.queries import Queries
from pykbroker.testing.records import Reader

if TYPE_CHECKING:
    from pykbroker.steered.request_log import RequestLog
    from pykbroker.testing.records import Record


def _value(record: Record) -> Hashable:
    return record.value


def _key(record: Record) -> Hashable:
    return record.key


class Judging(Queries):
    """A part of ``Kafka``."""

    #: What clients have asked, as ``Observations`` keeps it.
    _requests: RequestLog

    def judge(
        self,
        source: str,
        *targets: str,
        effects: Iterable[Hashable] | None = None,
        guarantee: str = "exactly-once",
        identity: Callable[[Record], Hashable] = _value,
        key: Callable[[Record], Hashable] = _key,
        in_order: bool = False,
    ) -> None:
        """Compare what a program has written to the topics ``targets``, or done as ``effects`` (identities in their order), with what
        stands in ``source``, by the identity of each record. ``guarantee`` is at-most-once, at-least-once or exactly-once;
        ``in_order`` asks for the order of each key, too. Raises Misjudged, an AssertionError, with what is lost, doubled, torn (in
        one target and not in another), out of order, read too early or made up, and where it stands, with the producers, transactions and requests
        that are kept of it, and LookupError for an unknown topic.
        """
        from pykbroker import judge
        from pykbroker.testing.origins import origins, topic_names

        try:
            judge.judge_records(
                *(self.records(source), map(self.records, targets), effects, guarantee, identity, key),
                in_order=in_order,
                uncommitted=lambda: self._ask(lambda cluster: Reader(cluster, source).uncommitted()),
            )
        except judge.Misjudged as found:
            places = found.places
            told = self._ask(lambda cluster: list(origins(places, list(self._requests), topic_names(cluster))))
            raise judge.Misjudged("\n".join([str(found), *told]), places) from None
