"""AddOffsetsToTxn (key 25), versions 0 to 4: adds the offsets of a consumer group to a transaction.

The partition of ``__consumer_offsets`` that holds the group joins the transaction. Clients of transaction version 2 do not
send this request: TxnOffsetCommit does the same. Before version 2 PRODUCER_FENCED is answered as INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.runtime.waits import as_wait
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest

_FENCED_SINCE = 2


def handle(broker: Broker, ctx: RequestContext, request: AddOffsetsToTxnRequest) -> Deferred[AddOffsetsToTxnResponse]:
    added = broker.transactions.add_partitions(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        [(CONSUMER_OFFSETS, broker.groups.partition_of(request.group_id))],
        client_version=0,
    )
    return as_wait(added).map(lambda _: AddOffsetsToTxnResponse())


def failed(request: AddOffsetsToTxnRequest, version: int, error: KafkaError) -> AddOffsetsToTxnResponse:
    code = error.code
    if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_SINCE:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=code)
