"""Metrics of quotas and connection limits: usage, throttled and refused connections. Absent without quotas and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pykbroker.http.metrics.metric import counter, gauge
from pykbroker.quotas.mutations import milliseconds

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.metrics.metric import Metric
    from pykbroker.http.metrics.page import Page, Steps
    from pykbroker.process.limiting import Limiting
    from pykbroker.quotas.throttling import Throttling
    from pykbroker.quotas.usage import RateUsage

_HOLDER: Final = ("broker", "resource", "user", "clientId")
BYTES = gauge(
    "kafka_server_quota_byte_rate",
    "Bytes per second of users and clients with a quota, over its windows, by Produce or Fetch.",
    *_HOLDER,
    moves="At pykbroker_quota_limit: its client is held back.",
)
TIME = gauge(
    "kafka_server_quota_request_time",
    "Percent of a thread that requests took of users and clients with a quota.",
    *_HOLDER,
    moves="As kafka_server_quota_byte_rate.",
)
THROTTLE = gauge(
    "kafka_server_quota_throttle_time",
    "Milliseconds until a user or client is within the quota again, without further requests.",
    *_HOLDER,
    moves="More than a few seconds: requests that are large beside the quota, or a quota that is too small.",
)
TOKENS = gauge(
    "kafka_server_quota_tokens",
    "Partitions that users with a quota may still create or delete; below 0, the excess.",
    *("resource", "user", "clientId"),
    moves="Below 0: topics are made faster than controller_mutation_rate allows.",
)
LIMIT = gauge(
    "pykbroker_quota_limit",
    "The quota that applies, in the unit of its usage.",
    *_HOLDER,
    moves="When somebody alters it: see pykbroker quotas list.",
)
ACCEPTED = gauge(
    "kafka_server_socket_server_metrics_connection_accept_rate",
    "New connections per second, on brokers whose connections are limited.",
    *("broker", "listener"),
    moves="At max.connection.creation.rate: further ones wait.",
)
HELD = gauge(
    "pykbroker_connections_waiting",
    "Accepted connections that are not served yet: they wait for a free slot, or for the end of a throttle time.",
    "broker",
    moves="Stays above 0: a listener, or the broker, is full.",
)
REFUSED = counter(
    "pykbroker_connections_refused_total",
    "Connections that were closed because of their address, by the limit that did it.",
    *("broker", "limit"),
    moves="See the log for the address, and what runs there.",
)

_IN_A_STEP: Final = 100


class QuotaCollector:
    """``limiting`` is the process's."""

    def __init__(self, limiting: Limiting) -> None:
        self._limiting = limiting

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        now = milliseconds(cluster.runtime.clock)
        if self._limiting.throttling is not None:
            yield from _used(self._limiting.throttling, page, now)
        if self._limiting.connections is not None:
            for node_id, limits in self._limiting.connections.brokers.items():
                for listener, rate in limits.quotas.rates(now).items():
                    page.add(ACCEPTED, round(rate, 3), node_id, listener)
                for limit, count in limits.refused.items():
                    page.add(REFUSED, count, node_id, limit)
                page.add(HELD, limits.held(), node_id)


def _used(throttling: Throttling, page: Page, now: int) -> Steps:
    for node_id, usage in list(throttling.brokers.items()):
        yield from _rates(page, BYTES, (node_id, "Produce"), usage.produce, now)
        yield from _rates(page, BYTES, (node_id, "Fetch"), usage.fetch, now)
        yield from _rates(page, TIME, (node_id, "Request"), usage.time, now)
    for number, ((user, client), (bucket, bound)) in enumerate(list(throttling.mutations.holders())):
        page.add(TOKENS, round(bucket.tokens(bound, now), 3), "ControllerMutation", user, client)
        if not number % _IN_A_STEP:
            yield None


def _rates(page: Page, metric: Metric, of: tuple[int, str], usage: RateUsage, now: int) -> Steps:
    for number, ((user, client), rate) in enumerate(list(usage.holders())):
        page.add(metric, round(rate.per_second(now), 3), *of, user, client)
        page.add(THROTTLE, usage.throttle_ms(rate, now), *of, user, client)
        page.add(LIMIT, rate.limit, *of, user, client)
        if not number % _IN_A_STEP:
            yield None
