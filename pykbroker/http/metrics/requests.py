"""Metrics of requests by API, version and error, their durations, and bytes and records by topic."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from pykbroker.http.metrics.meter import TopicCounts
from pykbroker.http.metrics.metric import counter, histogram, summary
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.errors import ErrorCode

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.metrics.meter import RequestCounts, RequestMeter
    from pykbroker.http.metrics.page import Page, Steps
    from pykbroker.runtime.clock import Clock

REQUESTS = counter(
    "kafka_network_requestmetrics_requests_total",
    "Requests by API and version.",
    *("request", "version"),
    moves="A version that disappears is a client that is no more; a jump of one API is a client that asks in a loop.",
)
ERRORS = counter(
    "kafka_network_requestmetrics_errors_total",
    "Error codes in responses, one for each partition, group or topic in a response; NONE for success.",
    *("request", "error"),
    moves="Any but NONE: look up the error, then what the log says at that time. NOT_LEADER_OR_FOLLOWER and "
    "REBALANCE_IN_PROGRESS come with every move and rebalance, and pass.",
)
TOTAL = summary(
    "kafka_network_requestmetrics_totaltimems",
    "Milliseconds from a request's arrival at the dispatcher to its response. A Fetch includes its long poll.",
    "request",
    moves="Look which part grew: localtimems is the broker at work, remotetimems a wait (a sync, a rebalance, a long poll).",
)
LOCAL = summary(
    "kafka_network_requestmetrics_localtimems",
    "Milliseconds in the handler, during which no other request is served.",
    "request",
    moves="Larger requests, or a machine that gives the process less of a core.",
)
REMOTE = summary(
    "kafka_network_requestmetrics_remotetimems",
    "Milliseconds that a request waited: for a sync, other members of a group, or records to fetch.",
    "request",
    moves="For Produce: the disk, where flush.messages asks for syncs. For JoinGroup: members that are slow to come back.",
)
SECONDS = histogram(
    "pykbroker_request_seconds",
    "The times of totaltimems in buckets, which may be added over brokers and any span of time.",
    "request",
    moves="As totaltimems; take histogram_quantile of its rate.",
)
CLOSED = counter(
    "pykbroker_requests_closed_total",
    "Requests whose connection was closed instead of a response.",
    "request",
    moves="The log says why, in one line for each.",
)
THROTTLED = counter(
    "pykbroker_requests_throttled_total",
    "Throttled requests.",
    "request",
    moves="A quota is reached: see pykbroker quotas list.",
)
THROTTLED_SECONDS = counter(
    "pykbroker_requests_throttled_seconds_total",
    "Throttle time in responses, in seconds.",
    "request",
    moves="As pykbroker_requests_throttled_total.",
)
MESSAGES_IN = counter(
    "kafka_server_brokertopicmetrics_messagesin_total",
    "Records that producers wrote. Without a topic: all topics together, deleted ones included.",
    "topic",
    moves="Falls to nothing: producers are away, or refused (failedproducerequests).",
)
BYTES_IN = counter(
    "kafka_server_brokertopicmetrics_bytesin_total",
    "Bytes of record batches that producers wrote, as compressed as they came.",
    "topic",
    moves="With it grow kafka_log_log_size and the need for disk: see retention.",
)
BYTES_OUT = counter(
    "kafka_server_brokertopicmetrics_bytesout_total",
    "Bytes of record batches sent to consumers.",
    "topic",
    moves="Many times bytesin is many groups, or one that reads from the beginning again.",
)
BYTES_REJECTED = counter(
    "kafka_server_brokertopicmetrics_bytesrejected_total",
    "Bytes of record batches that were refused.",
    "topic",
    moves="See which error Produce is answered with (kafka_network_requestmetrics_errors_total).",
)
PRODUCES = counter(
    "kafka_server_brokertopicmetrics_totalproducerequests_total",
    "Partitions that produce requests wrote to, or tried to.",
    "topic",
    moves="Many for few messagesin: producers that do not batch (linger.ms).",
)
FAILED_PRODUCES = counter(
    "kafka_server_brokertopicmetrics_failedproducerequests_total",
    "Those that failed.",
    "topic",
    moves="See which error Produce is answered with.",
)
FETCHES = counter(
    "kafka_server_brokertopicmetrics_totalfetchrequests_total",
    "Partitions in Fetch responses; in a fetch session only those with changes.",
    "topic",
    moves="As consumers come and go.",
)
FAILED_FETCHES = counter(
    "kafka_server_brokertopicmetrics_failedfetchrequests_total",
    "Those that failed.",
    "topic",
    moves="See which error Fetch is answered with; OFFSET_OUT_OF_RANGE is a consumer that retention has overtaken.",
)

_OF_TOPICS: Final = {
    MESSAGES_IN: "messages_in",
    BYTES_IN: "bytes_in",
    BYTES_OUT: "bytes_out",
    BYTES_REJECTED: "bytes_rejected",
    PRODUCES: "produces",
    FAILED_PRODUCES: "failed_produces",
    FETCHES: "fetches",
    FAILED_FETCHES: "failed_fetches",
}
#: Topics that are added up in one step.
_IN_A_STEP: Final = 50
#: Kafka counts a consumer's fetches under both names.
_CONSUMERS_FETCH: Final = "FetchConsumer"
_ERROR_NAMES: Final = {int(code): code.name for code in ErrorCode}


class RequestCollector:
    """Collects what the meter has counted."""

    def __init__(self, meter: RequestMeter, clock: Clock) -> None:
        self._meter = meter
        self._clock = clock

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        apis: dict[int, list[RequestCounts]] = {}
        for kind, counts in sorted(self._meter.requests.items()):
            apis.setdefault(kind.api_key, []).append(counts)
            page.add(REQUESTS, counts.at_once.count + counts.total.count, APIS[kind.api_key].name, kind.version)
            yield None
        for key, versions in apis.items():
            name = APIS[key].name
            _outcomes(page, name, versions)
            yield None
            for each in (name, _CONSUMERS_FETCH) if key == ApiKey.FETCH else (name,):
                yield from self._times(page, each, versions)
        self._meter.merge_other_topics(cluster.metadata.image.topics)
        total = TopicCounts()
        for number, each_topic in enumerate(self._meter.each_topic()):
            total.add(each_topic)
            if not number % _IN_A_STEP:
                yield None
        _topic(page, total)
        for name, topic in list(self._meter.topics.items()):
            _topic(page, topic, name)
            yield None

    def _times(self, page: Page, name: str, versions: list[RequestCounts]) -> Steps:
        now = self._clock.monotonic()
        at_once = [each.at_once for each in versions]
        total = [*at_once, *(each.total for each in versions)]
        page.add_times(TOTAL, total, now, 1000, name)
        yield None
        page.add_times(LOCAL, [*at_once, *(each.local for each in versions)], now, 1000, name)
        yield None
        page.add_times(REMOTE, [each.remote for each in versions], now, 1000, name)
        yield None
        page.add_histogram(SECONDS, total, name)
        yield None


def _outcomes(page: Page, name: str, versions: list[RequestCounts]) -> None:
    errors: Counter[int] = Counter()
    for each in versions:
        errors.update(each.errors)
        errors[0] += each.fine
    for error, count in sorted((+errors).items()):
        page.add(ERRORS, count, name, _ERROR_NAMES.get(error, str(error)))
    page.add(CLOSED, sum(each.closed for each in versions), name)
    page.add(THROTTLED, sum(each.throttled for each in versions), name)
    page.add(THROTTLED_SECONDS, sum(each.throttled_ms for each in versions) / 1000, name)


def _topic(page: Page, counts: TopicCounts, *name: str) -> None:
    for metric, field in _OF_TOPICS.items():
        value = getattr(counts, field)
        if name:
            page.add(metric, value, *name)
        else:
            page.lines(metric).append(f" {value}")
