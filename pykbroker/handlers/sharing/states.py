"""What is to be forgotten before a share group is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.share.offsets import begin_deletion
from pykbroker.coordination.share.asking import Answers, ask_each
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.wire.errors import ErrorCode

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker


def forget_group(broker: Broker, group_id: str) -> Deferred[None]:
    """Forget all state of a share group that is about to be deleted; of no other group there is any.

    Raises, or fails with, the KafkaError of a coordinator.
    """

    def forget(topics: dict[bytes, frozenset[int]] | None) -> Deferred[None]:
        if not topics:
            return Deferred.completed(None)
        asked = ask_each(group_id, topics, broker.share_states.delete)
        return as_wait(broker.runtime.slices.run(asked)).map(_check_all)

    return as_wait(broker.groups.ask(group_id, begin_deletion, group_id)).chain(forget)


def _check_all(answers: Answers) -> None:
    for error in answers.values():
        if error is not None and error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise error
