"""What is supported, and the way of one request: decode, handle, encode.

``SUPPORTED`` is the one place that says which APIs and versions are served. ApiVersions answers from it, requests are
checked against it, and the table in the README is printed from it (``python -m pykbroker.requests.dispatch``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

from pykbroker.runtime.waits import Deferred
from pykbroker.security.context import RequestContext
from pykbroker.wire.apis import ApiKey, request_class
from pykbroker.wire.errors import KafkaError, WireError
from pykbroker.wire.headers import begin_response, decode_request_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pykbroker.brokers.broker import Broker
    from pykbroker.network.connection import Connection
    from pykbroker.partitions.partition import Partition


class Api(NamedTuple):
    """One row of the table: the versions served, and the module in ``handlers`` that serves them.

    ``listed_from`` is the lowest version ApiVersions names, where that is not the lowest one served.
    """

    key: ApiKey
    min_version: int
    max_version: int
    handler: str
    listed_from: int | None = None

    @property
    def listed_min(self) -> int:
        """The lowest version ApiVersions names."""
        return self.min_version if self.listed_from is None else self.listed_from


SUPPORTED: tuple[Api, ...] = (
    # Versions 0 to 2 are gone, but librdkafka before 2.0 compresses only when it sees them listed (KIP-896).
    Api(ApiKey.PRODUCE, 3, 13, "produce", listed_from=0),
    Api(ApiKey.FETCH, 4, 18, "fetch"),
    Api(ApiKey.LIST_OFFSETS, 1, 11, "list_offsets"),
    Api(ApiKey.METADATA, 0, 13, "metadata"),
    Api(ApiKey.OFFSET_COMMIT, 2, 10, "offset_commit"),
    Api(ApiKey.OFFSET_FETCH, 1, 10, "offset_fetch"),
    Api(ApiKey.FIND_COORDINATOR, 0, 6, "find_coordinator"),
    Api(ApiKey.JOIN_GROUP, 0, 9, "join_group"),
    Api(ApiKey.HEARTBEAT, 0, 4, "heartbeat"),
    Api(ApiKey.LEAVE_GROUP, 0, 5, "leave_group"),
    Api(ApiKey.SYNC_GROUP, 0, 5, "sync_group"),
    Api(ApiKey.DESCRIBE_GROUPS, 0, 6, "describe_groups"),
    Api(ApiKey.LIST_GROUPS, 0, 5, "list_groups"),
    Api(ApiKey.SASL_HANDSHAKE, 0, 1, "sasl_handshake"),
    Api(ApiKey.API_VERSIONS, 0, 4, "api_versions"),
    Api(ApiKey.CREATE_TOPICS, 2, 7, "create_topics"),
    Api(ApiKey.DELETE_TOPICS, 1, 6, "delete_topics"),
    Api(ApiKey.DELETE_RECORDS, 0, 2, "delete_records"),
    Api(ApiKey.INIT_PRODUCER_ID, 0, 5, "init_producer_id"),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, "offset_for_leader_epoch"),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5, "add_partitions_to_txn"),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4, "add_offsets_to_txn"),
    Api(ApiKey.END_TXN, 0, 5, "end_txn"),
    Api(ApiKey.WRITE_TXN_MARKERS, 1, 2, "write_txn_markers"),
    Api(ApiKey.TXN_OFFSET_COMMIT, 0, 5, "txn_offset_commit"),
    Api(ApiKey.DESCRIBE_ACLS, 1, 3, "describe_acls"),
    Api(ApiKey.CREATE_ACLS, 1, 3, "create_acls"),
    Api(ApiKey.DELETE_ACLS, 1, 3, "delete_acls"),
    Api(ApiKey.DESCRIBE_CONFIGS, 1, 4, "describe_configs"),
    Api(ApiKey.ALTER_CONFIGS, 0, 2, "alter_configs"),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, 1, 2, "alter_replica_log_dirs"),
    Api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5, "describe_log_dirs"),
    Api(ApiKey.SASL_AUTHENTICATE, 0, 2, "sasl_authenticate"),
    Api(ApiKey.CREATE_PARTITIONS, 0, 3, "create_partitions"),
    Api(ApiKey.CREATE_DELEGATION_TOKEN, 1, 3, "create_delegation_token"),
    Api(ApiKey.RENEW_DELEGATION_TOKEN, 1, 2, "renew_delegation_token"),
    Api(ApiKey.EXPIRE_DELEGATION_TOKEN, 1, 2, "expire_delegation_token"),
    Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, 1, 3, "describe_delegation_token"),
    Api(ApiKey.DELETE_GROUPS, 0, 2, "delete_groups"),
    Api(ApiKey.ELECT_LEADERS, 0, 2, "elect_leaders"),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, "incremental_alter_configs"),
    Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1, "alter_partition_reassignments"),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, "list_partition_reassignments"),
    Api(ApiKey.OFFSET_DELETE, 0, 0, "offset_delete"),
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, 0, 1, "describe_client_quotas"),
    Api(ApiKey.ALTER_CLIENT_QUOTAS, 0, 1, "alter_client_quotas"),
    Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0, "describe_user_scram_credentials"),
    Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0, "alter_user_scram_credentials"),
    Api(ApiKey.DESCRIBE_QUORUM, 0, 2, "describe_quorum"),
    Api(ApiKey.UPDATE_FEATURES, 0, 2, "update_features"),
    Api(ApiKey.DESCRIBE_CLUSTER, 0, 2, "describe_cluster"),
    Api(ApiKey.DESCRIBE_PRODUCERS, 0, 0, "describe_producers"),
    Api(ApiKey.UNREGISTER_BROKER, 0, 0, "unregister_broker"),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, "describe_transactions"),
    Api(ApiKey.LIST_TRANSACTIONS, 0, 2, "list_transactions"),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, "consumer_group_heartbeat"),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1, "consumer_group_describe"),
    Api(ApiKey.LIST_CONFIG_RESOURCES, 0, 1, "list_config_resources"),
    Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0, "describe_topic_partitions"),
)

_TABLE_WIDTH = 3

_BY_KEY: dict[int, Api] = {int(api.key): api for api in SUPPORTED}


class CloseConnection(Exception):
    """The connection cannot go on; the text says why, for the log."""


class NotYet(Exception):
    """A request can only be handled once ``until`` is done; until then nothing was done of it. Its connection takes up
    nothing else meanwhile, so the order of its requests stays.
    """

    def __init__(self, until: Deferred[None]) -> None:
        super().__init__()
        self.until = until


class _Route:
    """A row with its classes loaded; made when the first request of its key arrives."""

    __slots__ = ("api", "decode", "failed", "handle", "logs_of")

    def __init__(self, api: Api) -> None:
        module = importlib.import_module(f"pykbroker.handlers.{api.handler}")
        self.api = api
        self.decode: Callable[..., tuple[Any, int]] = request_class(api.key).decode
        self.handle: Callable[[Broker, RequestContext, Any], Any] = module.handle
        self.failed: Callable[[Any, int, KafkaError], Any] | None = getattr(module, "failed", None)
        #: The partitions whose logs a request will read or write, where the handler says so; None for one unknown.
        self.logs_of: Callable[[Broker, int, Any], Iterable[Partition | None]] | None
        self.logs_of = getattr(module, "logs_of", None)


_routes: dict[int, _Route] = {}


def _route(api_key: int, version: int) -> _Route:
    """The route of a request. Raises CloseConnection for what is not served: its layout, even that of an error answer,
    would be a guess, so Kafka closes too (the exception is ApiVersions, which every client can read in version 0).
    """
    route = _routes.get(api_key)
    if route is None:
        api = _BY_KEY.get(api_key)
        if api is None:
            raise CloseConnection(f"UNSUPPORTED_VERSION: API key {api_key} is not served")
        route = _routes[api_key] = _Route(api)
    if not route.api.min_version <= version <= route.api.max_version and api_key != ApiKey.API_VERSIONS:
        raise CloseConnection(f"UNSUPPORTED_VERSION: {route.api.key.name} is not served in version {version}")
    return route


def handle_frame(broker: Broker, peer: Connection, frame: memoryview) -> Any:
    """Answer one request frame (without its size).

    Returns the response as a list of buffers, size included; a Deferred of it where the handler waits; None where
    nothing is to be sent. Raises NotYet where the frame is to be handed in again later, and CloseConnection where the
    connection must end, for malformed bytes above all.
    """
    try:
        header, pos = decode_request_header(frame, 0)
    except WireError as error:
        raise CloseConnection(f"it sent a malformed request ({error})") from error
    key, version = header.api_key, header.api_version
    route = _route(key, version)
    ctx = RequestContext(
        key, version, header.correlation_id, header.client_id, peer.host, peer.listener, peer.principal, peer
    )
    if key == ApiKey.API_VERSIONS and not 0 <= version <= route.api.max_version:
        version = ctx.api_version = 0  # KIP-511: answered in version 0 with UNSUPPORTED_VERSION, whatever the body is
        response = route.handle(broker, ctx, None)
    else:
        try:
            request, _ = route.decode(frame, pos, version)
        except WireError as error:
            raise CloseConnection(f"it sent a malformed request ({error})") from error
        if broker.cluster.dormant.partitions and route.logs_of is not None:
            _wait_for_logs(broker, route.logs_of(broker, version, request))
        try:
            response = route.handle(broker, ctx, request)
        except KafkaError as error:
            response = _failure(route, request, version, error)
        if type(response) is Deferred:
            return _later(route, ctx, request, response)
    if response is None:
        return None
    out = begin_response(key, version, header.correlation_id)
    response.encode(out, version)
    return out.finish()


def _wait_for_logs(broker: Broker, partitions: Iterable[Partition | None]) -> None:
    """Raises NotYet where logs lie closed since the start: a thread reads what opening them will read."""
    dormant = broker.cluster.dormant.partitions
    closed = {partition for partition in partitions if partition in dormant}
    if closed:
        raise NotYet(broker.cluster.dormant.open(closed))


def _failure(route: _Route, request: Any, version: int, error: KafkaError) -> Any:
    if route.failed is None:
        raise CloseConnection(f"{route.api.key.name} failed: {error}") from error
    return route.failed(request, version, error)


def _later(route: _Route, ctx: RequestContext, request: Any, response: Deferred[Any]) -> Deferred[Any]:
    """The encoded form of a response that is still to come."""

    def encoded(answer: Any) -> Any:
        if answer is None:
            return None
        out = begin_response(ctx.api_key, ctx.api_version, ctx.correlation_id)
        answer.encode(out, ctx.api_version)
        return out.finish()

    return response.recover(KafkaError, lambda error: _failure(route, request, ctx.api_version, error)).map(encoded)


def table() -> str:
    """SUPPORTED in Markdown, as it stands in the README: three pairs of columns, each read downwards."""
    cells = [f"{api.key.name} ({int(api.key)}) | {_versions(api)}" for api in SUPPORTED]
    height = -(-len(cells) // _TABLE_WIDTH)
    cells += [" | "] * (height * _TABLE_WIDTH - len(cells))
    rows = [" | ".join(cells[row::height]) for row in range(height)]
    head = [" | ".join(["API | versions"] * _TABLE_WIDTH), "|".join(["---"] * 2 * _TABLE_WIDTH)]
    return "\n".join([f"| {head[0]} |", f"|{head[1]}|", *(f"| {row} |" for row in rows)])


def _versions(api: Api) -> str:
    return f"{api.min_version} to {api.max_version}" if api.min_version < api.max_version else f"{api.max_version}"


if __name__ == "__main__":
    print(table())  # noqa: T201
