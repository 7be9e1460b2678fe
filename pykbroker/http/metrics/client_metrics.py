"""Metrics that clients have sent (KIP-714), under their own names after ``kafka_client_``. Absent until a client has pushed."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from pykbroker.http.metrics.metric import Metric, counter, gauge
from pykbroker.http.metrics.page import labels

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.metrics.page import Page, Steps
    from pykbroker.telemetry.received import ClientValues

INSTANCES = gauge(
    "kafka_server_client_metrics_instance_count",
    "Clients that have asked for subscriptions of client metrics and are still connected.",
    "broker",
    moves="0 with clients that run: none matches, or enable.metrics.push is off. pykbroker client-metrics list.",
)
THROTTLED = counter(
    "kafka_server_client_metrics_throttle_total",
    "Requests of client telemetry before the next push was due.",
    "broker",
    moves="Grows: clients that start and end often.",
)
UNKNOWN = counter(
    "kafka_server_client_metrics_unknown_subscription_request_total",
    "Pushes after the subscriptions had changed; their clients ask anew.",
    "broker",
    moves="After each change of a subscription.",
)
PUSHES = counter(
    "kafka_server_client_metrics_plugin_export_total",
    "Pushes whose metrics were taken.",
    "broker",
    moves="Stands still: no client pushes.",
)
ERRORS = counter(
    "kafka_server_client_metrics_plugin_error_total",
    "Pushes whose metrics could not be read.",
    "broker",
    moves="Grows: a client library writes them otherwise; the broker's log names the client.",
)
DROPPED = counter(
    "pykbroker_client_metrics_dropped_total",
    "Values of clients that were not kept: beyond 1,000 series of a client, 20,000 of a broker, or with very long labels.",
    "broker",
    moves="Grows: subscriptions ask for more than is looked at; name fewer metrics.",
)
SERIES = gauge(
    "pykbroker_client_metrics_series",
    "Series that clients have sent, each a line kafka_client_... of this page.",
    "broker",
    moves="At 20,000: see pykbroker_client_metrics_dropped_total.",
)
_COUNTS: Final = {
    "throttle": THROTTLED,
    "unknown-subscription-request": UNKNOWN,
    "plugin-export": PUSHES,
    "plugin-error": ERRORS,
}
#: What the names of Kafka's clients begin with; it is left out.
_KAFKAS: Final = "org.apache.kafka."
_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_]")
#: What no label begins with, or has an underscore before: nothing, a digit, an underscore.
_NOT_FIRST: Final = {"", "_", *"0123456789"}
_IN_A_STEP: Final = 50
_OWN_LABELS: Final = ("client_id", "client_instance_id", "broker")


class ClientMetricCollector:
    """Metrics of clients, as long as the brokers keep them."""

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        known: dict[str, Metric] = {}
        for node_id, broker in list(cluster.brokers.items()):
            telemetry = broker.started_telemetry
            if telemetry is None:
                continue
            page.add(INSTANCES, len(telemetry.instances), node_id)
            page.add(SERIES, telemetry.received.series, node_id)
            page.add(DROPPED, telemetry.received.dropped, node_id)
            for name, metric in _COUNTS.items():
                page.add(metric, telemetry.counts[name], node_id)
            for client in telemetry.received.clients():
                yield from _client(node_id, client, known, page)


def _client(node_id: int, client: ClientValues, known: dict[str, Metric], page: Page) -> Steps:
    """The series of a client, as it has sent them to a broker; it may go on with another. Names that are alike on this page are one series:
    the first is shown.
    """
    seen: set[tuple[Metric, str]] = set()
    for number, ((name, given), (value, only_grows)) in enumerate(list(client.series.items())):
        if not number % _IN_A_STEP:
            yield None
        metric = _metric(name, only_grows, known)
        names = {_label(key): text for key, text in given}  # one that came twice would make the whole page unreadable
        own = dict(zip(_OWN_LABELS, (client.client_id, client.instance_id, str(node_id)), strict=True))
        line = labels(*zip(*(own | {key: text for key, text in names.items() if key not in own}).items(), strict=True))
        if metric is not None and (metric, line) not in seen:
            seen.add((metric, line))
            page.lines(metric).append(f"{line} {_number(value)}")


def _number(value: float) -> str:
    """A number as Prometheus writes it."""
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _label(key: str) -> str:
    """The name of a label here. Those that begin with two underscores are Prometheus's own: ``__name__`` is the metric's name."""
    name = f"_{_NO_NAME.sub('_', key)}"
    return f"_{name.lstrip('_')}" if name[1:2] in _NOT_FIRST else name[1:]


def _metric(name: str, only_grows: bool, known: dict[str, Metric]) -> Metric | None:
    """The metric of this page for a client's metric; None if clients use the name for two kinds."""
    shown = f"kafka_client_{_NO_NAME.sub('_', name.removeprefix(_KAFKAS))}"
    kind = "counter" if only_grows else "gauge"
    if only_grows and not shown.endswith("_total"):
        shown = f"{shown}_total"
    found = known.setdefault(shown, Metric(shown, kind, "Of clients, which have sent it (KIP-714)."))
    return found if found.kind == kind else None
