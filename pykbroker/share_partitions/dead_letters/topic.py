"""Finds the dead-letter topic of a group, or creates it where the brokers' settings allow that."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.controller.mutation_quotas import Charged
    from pykbroker.controller.topics import TopicResult
    from pykbroker.partitions.partition import Partition
    from pykbroker.share_partitions.dead_letters.places import LetterPlace
    from pykbroker.share_partitions.host import ShareHost

log = logging.getLogger(__name__)

_ENABLED: Final = "errors.deadletterqueue.group.enable"
_CREATES: Final = "errors.deadletterqueue.auto.create.topics.enable"
_PREFIX: Final = "errors.deadletterqueue.topic.name.prefix"


class DeadLetterTopics:
    """See the module."""

    def __init__(self, host: ShareHost) -> None:
        self._host = host
        self._under_way: dict[str, Deferred[None]] = {}

    def check(self, name: str) -> None:
        """Raises KafkaError INVALID_CONFIG, with the reason, if share groups may not write dead letters to a topic of this name."""
        if not name:
            raise _refused("the group has no dead-letter topic any more")
        if name.startswith("__"):
            raise _refused(f"the name of {name} begins with __")
        prefix = self._host.config[_PREFIX]
        if not name.startswith(prefix):
            raise _refused(f"the name of {name} does not begin with {prefix} ({_PREFIX})")
        if name not in self._host.metadata.image.topics:
            if not self._host.config[_CREATES]:
                raise _refused(f"there is no topic {name}, and {_CREATES} is false")
        elif self._host.metadata.image.config(TOPIC_RESOURCE, name).get(_ENABLED, "").strip().lower() != "true":
            raise _refused(f"the topic {name} does not have {_ENABLED}")

    def find(self, name: str, index: int) -> Partition | None:
        """The partition for dead letters of the partitions ``index``, at its leader in this process; None if it has none here now."""
        return self._host.at_leader(name, self._index(name, index))

    def find_remote(self, name: str, index: int) -> LetterPlace | None:
        """The same at its leader in another process."""
        return self._host.remote_letters(name, self._index(name, index))

    def _index(self, name: str, index: int) -> int:
        topic = self._host.metadata.image.topics.get(name)
        return index if topic is None else index % len(topic.partitions)

    def create(self, name: str) -> Deferred[None]:
        """Create the topic, if it does not exist. Fails with the KafkaError of the controller."""
        if name in self._host.metadata.image.topics:
            return Deferred.completed(None)
        under_way = self._under_way.get(name)
        if under_way is None:
            under_way = self._under_way[name] = Deferred()
            new = NewTopic(name, configs={_ENABLED: "true", "message.timestamp.type": "CreateTime"})
            created = attempt(self._host.controller.create_topics, [new]).map(_check)
            created.settled().map(partial(self._end, name)).or_log("creating the dead-letter topic %s", name)
            created.pass_to(under_way)
        wait: Deferred[None] = Deferred()
        under_way.pass_to(wait)
        return wait

    def _end(self, name: str, _: None) -> None:
        del self._under_way[name]


def _check(created: Charged[list[TopicResult]]) -> None:
    """Raises the KafkaError of the one topic."""
    error = created.result[0].error
    if error is not None:
        raise error


def _refused(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, reason)
