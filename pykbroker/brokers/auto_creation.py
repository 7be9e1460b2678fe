"""Automatic topic creation, with one request to the controller at a time for each topic (Kafka's AutoTopicCreationManager)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred, attempt, gather
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.controller.internal_topics import Settings
    from pykbroker.controller.mutation_quotas import Charged
    from pykbroker.controller.port import ControllerPort
    from pykbroker.controller.topics import TopicResult

log = logging.getLogger(__name__)

#: The most topics that one request creates, those of one change of the metadata, and those that a log line names.
_AT_ONCE = 500
_IN_A_CHANGE = 30
_SHOWN = 10


class AutoCreation:
    """Topics are created with the broker's defaults, internal topics with their own settings."""

    def __init__(self, controller: ControllerPort, config: Settings) -> None:
        self._controller = controller
        self._config = config
        self._under_way: dict[str, Deferred[None]] = {}

    def create(self, names: Iterable[str]) -> Deferred[None]:
        """Completes when the controller has answered for the names, of which the first 500 are created: the client asks again
        for the others. Refusals are logged; those topics do not exist.
        """
        waits: list[Deferred[None]] = []
        new: list[str] = []
        for name in dict.fromkeys(islice(names, _AT_ONCE)):
            under_way = self._under_way.get(name)
            if under_way is None:
                new.append(name)
            else:
                waits.append(under_way)
        waits += [self._begin(new[first : first + _IN_A_CHANGE]) for first in range(0, len(new), _IN_A_CHANGE)]
        return gather(waits).map(lambda _: None)

    def _begin(self, names: list[str]) -> Deferred[None]:
        """Create topics in one change of the metadata, which is published in one turn of the loop."""
        from pykbroker.controller.internal_topics import topic_to_create

        over: Deferred[None] = Deferred()
        self._under_way.update(dict.fromkeys(names, over))
        topics = [topic_to_create(name, self._config) for name in names]
        created = attempt(self._controller.create_topics, topics).map(_tell_refused)
        told = created.recover(KafkaError, partial(_tell_failed, names))
        told.or_log("creating the topics %s", _few(names))
        told.settled().map(lambda _: self._end(names)).pass_to(over)
        return over

    def _end(self, names: Sequence[str]) -> None:
        for name in names:
            del self._under_way[name]


def _tell_refused(created: Charged[list[TopicResult]]) -> None:
    for result in created.result:
        # One that exists: another broker was asked for it, too.
        if result.error is not None and result.error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            log.warning("Auto-creation of topic %s failed: %s", result.name, result.error)


def _tell_failed(names: Sequence[str], error: KafkaError) -> None:
    log.warning("Auto-creation of the topics %s failed: %s", _few(names), error)


def _few(names: Sequence[str]) -> str:
    """The names for the log, which a client may not fill."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
