"""Automatic topic creation, with one request to the controller at a time for each topic (Kafka's AutoTopicCreationManager)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred, attempt, gather
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.controller.internal_topics import Settings
    from pykbroker.controller.mutation_quotas import Charged
    from pykbroker.controller.port import ControllerPort
    from pykbroker.controller.topics import TopicResult

log = logging.getLogger(__name__)


class AutoCreation:
    """Topics are created with the broker's defaults, internal topics with their own settings."""

    def __init__(self, controller: ControllerPort, config: Settings) -> None:
        self._controller = controller
        self._config = config
        self._under_way: dict[str, Deferred[None]] = {}

    def create(self, names: Iterable[str]) -> Deferred[None]:
        """Completes when the controller has answered for all names. Refusals are logged; those topics do not exist."""
        from pykbroker.controller.internal_topics import topic_to_create  # noqa: PLC0415 - start-up counts

        names = list(names)
        new = [name for name in names if name not in self._under_way]
        over: Deferred[None] = Deferred()
        waits = [*(self._under_way[name] for name in names if name not in new), over]
        if new:
            self._under_way.update(dict.fromkeys(new, over))
            topics = [topic_to_create(name, self._config) for name in new]
            created = attempt(self._controller.create_topics, topics).map(_tell_refused)
            told = created.recover(KafkaError, partial(_tell_failed, new))
            told.or_log("creating the topics %s", ", ".join(new))
            told.settled().map(lambda _: self._end(new)).pass_to(over)
        else:
            over.complete(None)
        return gather(waits).map(lambda _: None)

    def _end(self, names: Sequence[str]) -> None:
        for name in names:
            del self._under_way[name]


def _tell_refused(created: Charged[list[TopicResult]]) -> None:
    for result in created.result:
        if result.error is not None:
            log.warning("Auto-creation of topic %s failed: %s", result.name, result.error)


def _tell_failed(names: Sequence[str], error: KafkaError) -> None:
    log.warning("Auto-creation of the topics %s failed: %s", ", ".join(names), error)
