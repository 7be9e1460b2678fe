"""The controller of a quorum that other processes are: the part of ``ControllerPort`` that a broker asks for itself, on the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from pykbroker.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from pykbroker.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse

if TYPE_CHECKING:
    from pykbroker.quorum.observing import MetadataObserver, Nodes
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.wire.message import Message

R = TypeVar("R", bound="Message")

#: The pause before the leader is asked again, which may have another one by then.
_PAUSE_MS = 50
#: With the broker epochs of the ISR (KIP-903).
_LOWEST_ALTER_PARTITION = 3


def _of_the_whole(response: Any) -> int:
    code: int = response.error_code
    return code


class RemoteController:
    """See the module. ``broker_epoch`` is that of this broker's registration; a request that is not answered for ``limit_ms`` fails."""

    def __init__(
        self,
        observing: MetadataObserver,
        nodes: Nodes,
        runtime: Runtime,
        broker_epoch: Callable[[], int],
        limit_ms: float,
    ) -> None:
        self._observing = observing
        self._nodes = nodes
        self._runtime = runtime
        self._broker_epoch = broker_epoch
        self._limit_ms = limit_ms

    def alter_partition(self, request: AlterPartitionRequest) -> Deferred[AlterPartitionResponse]:
        """See ``ControllerPort``."""
        return self.ask(request, AlterPartitionResponse, _LOWEST_ALTER_PARTITION)

    def allocate_producer_ids(self, broker_id: int, *, broker_epoch: int | None = None) -> Deferred[range]:
        """See ``ControllerPort``."""
        epoch = self._broker_epoch() if broker_epoch is None else broker_epoch
        answer = self.ask(AllocateProducerIdsRequest(broker_id, epoch), AllocateProducerIdsResponse)
        return answer.map(lambda block: range(block.producer_id_start, block.producer_id_start + block.producer_id_len))

    def assign_replicas_to_dirs(self, request: AssignReplicasToDirsRequest) -> Deferred[AssignReplicasToDirsResponse]:
        """See ``ControllerPort``."""
        return self.ask(request, AssignReplicasToDirsResponse)

    def ask(
        self, request: Message, response: type[R], lowest: int = 0, code_of: Callable[[Any], int] = _of_the_whole
    ) -> Deferred[R]:
        """The answer of the controller that leads. One that does not answer or leads no more is asked again, or the next one: what it did may
        be done twice, which these requests bear. Fails with what the answer says of all of it, by ``code_of``, and with NETWORK_EXCEPTION.
        """
        result: Deferred[R] = Deferred()
        deadline = self._runtime.clock.monotonic() + self._limit_ms / 1000

        def send() -> None:
            address = self._observing.observer.leader
            left_ms = (deadline - self._runtime.clock.monotonic()) * 1000
            if address is None:
                again(KafkaError(ErrorCode.NETWORK_EXCEPTION, "no controller that leads is reached"))
                return
            sent = attempt(self._nodes.ask, address, request, response, max(left_ms, 1), lowest)
            sent.fold(answered).or_log("a request to the controller")

        def answered(done: Deferred[R]) -> None:
            error = done.error
            if error is None and (code := code_of(done.value)):
                error = KafkaError(error_code(code))
            if error is None:
                result.complete(done.value)
            elif isinstance(error, KafkaError) and error.code in _ELSEWHERE:
                again(error)
            else:
                result.fail(error)

        def again(error: KafkaError) -> None:
            if self._runtime.clock.monotonic() + _PAUSE_MS / 1000 >= deadline:
                result.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION, error.message))
            else:
                self._runtime.client_timers.after(_PAUSE_MS, send)

        send()
        return result


_ELSEWHERE = (ErrorCode.NETWORK_EXCEPTION, ErrorCode.NOT_CONTROLLER)
