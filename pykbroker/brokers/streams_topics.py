"""The internal topics of Kafka Streams applications: the broker creates them for the members of streams groups (KIP-1071).

Each member asks with every heartbeat until all are there, so a topic that is being created is not created again, and one that could not
be created is tried again only when its error has been told for a while.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.runtime.waits import attempt
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.controller.mutation_quotas import Charged, ChargedClient
    from pykbroker.controller.port import ControllerPort
    from pykbroker.controller.topics import NewTopic, TopicResult
    from pykbroker.runtime.clock import Clock

log = logging.getLogger(__name__)

#: The most topics that one heartbeat creates, those of one change of the metadata, and the errors that are kept.
_AT_ONCE = 500
_IN_A_CHANGE = 20
_MOST_ERRORS = 1000


class StreamsTopics:
    """See the module."""

    def __init__(self, controller: ControllerPort, clock: Clock) -> None:
        self._controller = controller
        self._clock = clock
        self._under_way: set[str] = set()
        #: By topic: what could not be done, and until when that is told, in monotonic seconds. The oldest goes first.
        self._errors: dict[str, tuple[str, float]] = {}

    def create(self, topics: Iterable[NewTopic], client: ChargedClient | None, keep_ms: int) -> None:
        """Begin to create topics; errors are told for so long."""
        new: list[NewTopic] = []
        for topic in topics:
            if topic.name not in self._under_way and self.error(topic.name) is None:
                new.append(topic)
                if len(new) == _AT_ONCE:
                    break
        for first in range(0, len(new), _IN_A_CHANGE):
            self._begin(new[first : first + _IN_A_CHANGE], client, keep_ms / 1000)

    def error(self, name: str) -> str | None:
        """Why a topic could not be created lately."""
        found = self._errors.get(name)
        if found is None:
            return None
        message, until = found
        if self._clock.monotonic() < until:
            return message
        del self._errors[name]
        return None

    def _begin(self, topics: Sequence[NewTopic], client: ChargedClient | None, keep_s: float) -> None:
        names = [topic.name for topic in topics]
        self._under_way.update(names)
        created = attempt(partial(self._controller.create_topics, topics, client=client)).map(
            lambda charged: self._tell_refused(charged, keep_s)
        )
        over = created.recover(KafkaError, lambda error: self._tell_failed(names, error, keep_s))
        over.or_log("creating internal topics of a streams group")
        over.settled().map(lambda _: self._under_way.difference_update(names))

    def _tell_refused(self, charged: Charged[list[TopicResult]], keep_s: float) -> None:
        for result in charged.result:
            if result.error is not None:
                self._keep(result.name, result.error, keep_s)

    def _tell_failed(self, names: Sequence[str], error: KafkaError, keep_s: float) -> None:
        for name in names:
            self._keep(name, error, keep_s)

    def _keep(self, name: str, error: KafkaError, keep_s: float) -> None:
        log.warning("Internal topic %s could not be created: %s", name, error)
        self._errors.pop(name, None)
        while len(self._errors) >= _MOST_ERRORS:
            del self._errors[next(iter(self._errors))]
        self._errors[name] = (error.message, self._clock.monotonic() + keep_s)
