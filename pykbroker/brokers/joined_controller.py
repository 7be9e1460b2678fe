"""The controller of a quorum that other processes are, as a broker and what is beside it in its process ask it.

Clients' requests for changes do not come here: they are forwarded whole (``requests/forwarded.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pykbroker.controller.metadata_quorum import QuorumDescription
from pykbroker.controller.mutation_quotas import Charged
from pykbroker.controller.topics import TopicResult
from pykbroker.quorum.remote_controller import RemoteController
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages import alter_configs
from pykbroker.wire.messages import incremental_alter_configs as incremental
from pykbroker.wire.messages.alter_configs import AlterConfigsResponse
from pykbroker.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from pykbroker.wire.messages.incremental_alter_configs import IncrementalAlterConfigsResponse

if TYPE_CHECKING:
    from pykbroker.controller.config_alterations import Alteration
    from pykbroker.controller.mutation_quotas import ChargedClient
    from pykbroker.controller.topics import NewTopic
    from pykbroker.quorum.controller_session import ControllerSession
    from pykbroker.quorum.observing import MetadataObserver, Nodes
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.wire.message import Message

_TIMEOUT_MS = 30_000


class JoinedController(RemoteController):
    """Part of ``ControllerPort``; the rest fails with INVALID_REQUEST. ``session`` is this broker's with the controllers."""

    def __init__(
        self,
        observing: MetadataObserver,
        nodes: Nodes,
        runtime: Runtime,
        session: ControllerSession,
        limit_ms: float,
    ) -> None:
        super().__init__(observing, nodes, runtime, lambda: session.lifecycle.epoch, limit_ms)
        self._session = session

    def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False, client: ChargedClient | None = None
    ) -> Deferred[Charged[list[TopicResult]]]:
        """See ``ControllerPort``; it is the broker that is charged."""
        del client
        request = CreateTopicsRequest(
            topics=[_creatable(each) for each in topics], timeout_ms=_TIMEOUT_MS, validate_only=validate_only
        )
        answer = self.ask(request, CreateTopicsResponse, code_of=lambda answer: _moved(answer.topics))
        return answer.map(partial(_results, topics))

    def alter_configs(
        self, alterations: Sequence[Alteration], /, *, broker_id: int, validate_only: bool = False
    ) -> Deferred[list[KafkaError | None]]:
        """See ``ControllerPort``, for what the broker itself alters."""
        del broker_id
        request, response, _ = altering(alterations, validate_only=validate_only)
        answer = self.ask(request, response, code_of=lambda answer: _moved(answer.responses))
        return answer.map(partial(altering_errors, alterations))

    def cordon(self, broker_id: int, directories: Sequence[bytes], /) -> Deferred[None]:
        """See ``ControllerPort``: heartbeats say it, since a metadata.version that has it."""
        del broker_id
        self._session.cordon(directories)
        return Deferred.completed(None)

    def fail_directories(self, broker_id: int, directories: Sequence[bytes], /) -> Deferred[None]:
        """See ``ControllerPort``: heartbeats say it."""
        del broker_id
        self._session.fail_directories(directories)
        return Deferred.completed(None)

    def fence_broker(self, broker_id: int, /) -> Deferred[None]:
        """The broker ends, as Apache Kafka's does, since all its log directories are offline; the controllers fence it."""
        del broker_id
        self._session.give_up("all its log directories are offline: look at the disks, and start it again")
        return Deferred.completed(None)

    def describe_quorum(self) -> Deferred[QuorumDescription]:
        """See ``ControllerPort``, as this broker's copy of the log has it: of other nodes the leader alone."""
        observing = self._observing
        observer = observing.observer
        bounds = observing.start_offset, observing.offset + 1
        return Deferred.completed(QuorumDescription(observer.leader_id, observer.epoch, *bounds, (), ()))

    def read_log(self, offset: int, max_bytes: int, upper_offset: int, /) -> Deferred[bytes]:
        """See ``ControllerPort``: from this broker's copy."""
        return self._observing.read_log(offset, max_bytes, upper_offset)

    def __getattr__(self, name: str) -> Callable[..., Deferred[Any]]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(_refuse, name)


def _refuse(name: str, *_: Any, **__: Any) -> Deferred[Any]:
    said = (
        f"the controllers of this broker are other processes, which it does not ask for {name}: use a client of Kafka"
    )
    return Deferred.failed(KafkaError(ErrorCode.INVALID_REQUEST, said))


def altering(
    alterations: Sequence[Alteration], *, validate_only: bool
) -> tuple[Message, type[AlterConfigsResponse | IncrementalAlterConfigsResponse], int]:
    """The request for alterations of one kind, the class of its answer, and its version."""
    if any(each.replaces for each in alterations):
        replaced = [
            alter_configs.AlterConfigsResource(
                each.resource_type,
                each.resource_name,
                [alter_configs.AlterableConfig(change.name, change.value) for change in each.changes],
            )
            for each in alterations
        ]
        return alter_configs.AlterConfigsRequest(replaced, validate_only=validate_only), AlterConfigsResponse, 2
    altered = [
        incremental.AlterConfigsResource(
            each.resource_type,
            each.resource_name,
            [incremental.AlterableConfig(change.name, change.operation, change.value) for change in each.changes],
        )
        for each in alterations
    ]
    return (
        incremental.IncrementalAlterConfigsRequest(altered, validate_only=validate_only),
        IncrementalAlterConfigsResponse,
        1,
    )


def altering_errors(
    alterations: Sequence[Alteration], response: AlterConfigsResponse | IncrementalAlterConfigsResponse
) -> list[KafkaError | None]:
    """What the answer says of each of them; it has an order of its own."""
    found = {
        (each.resource_type, each.resource_name): _error(each.error_code, each.error_message)
        for each in response.responses
    }
    return [found.get((each.resource_type, each.resource_name), _left_out()) for each in alterations]


def _creatable(topic: NewTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        assignments=[CreatableReplicaAssignment(index, replicas) for index, replicas in topic.assignments],
        configs=[CreatableTopicConfig(name, value) for name, value in topic.configs.items()],
    )


def _moved(parts: Sequence[Any]) -> int:
    """NOT_CONTROLLER if a part of the answer has it, which makes the whole request one to send again; else 0."""
    return ErrorCode.NOT_CONTROLLER if any(each.error_code == ErrorCode.NOT_CONTROLLER for each in parts) else 0


def _results(topics: Sequence[NewTopic], response: CreateTopicsResponse) -> Charged[list[TopicResult]]:
    found = {
        each.name: TopicResult(
            each.name,
            _error(each.error_code, each.error_message),
            each.topic_id,
            each.num_partitions,
            each.replication_factor,
        )
        for each in response.topics
    }
    results = [found.get(each.name) or TopicResult(each.name, _left_out()) for each in topics]
    return Charged(results, response.throttle_time_ms)


def _error(code: int, message: str | None) -> KafkaError | None:
    return KafkaError(error_code(code), message) if code else None


def _left_out() -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the controller's answer leaves it out")
