"""The panels of the dashboard, row by row, with their queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL, in which ``@`` stands for the selected instances. ``legend`` names each line by its labels."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """``unit`` and ``kind`` are Grafana's; from ``bad`` on, a number is red."""

    title: str
    unit: str
    queries: tuple[Query, ...]
    bad: float | None = None
    kind: str = "timeseries"


def _lines(title: str, unit: str, *queries: tuple[str, str]) -> Panel:
    return Panel(title, unit, tuple(Query(*each) for each in queries))


def _number(title: str, unit: str, expr: str, bad: float | None = None) -> Panel:
    return Panel(title, unit, (Query(expr),), bad, "stat")


def _rate(metric: str, labels: str = "", more: str = "") -> str:
    """Return the rate of a counter, by labels."""
    rate = f"rate({metric}{{@{more}}}[$__rate_interval])"
    return f"sum by ({labels}) ({rate})" if labels else f"sum({rate})"


def _mean(metric: str) -> str:
    """Return the mean of a summary's events, by API."""
    return f"{_rate(metric + '_sum', 'request')} / {_rate(metric + '_count', 'request')}"


_TOPIC: Final = ',topic=~"$topic"'
_GROUP: Final = ',consumergroup=~"$group"'
_BROKERTOPIC: Final = "kafka_server_brokertopicmetrics"
_REQUESTS: Final = "kafka_network_requestmetrics"
_REPLICAS: Final = "kafka_server_replicamanager"
_SLOWEST: Final = "topk(10, histogram_quantile(0.99, sum by (le, request) (rate(pykbroker_request_seconds_bucket{@}[$__rate_interval]))))"

ROWS: Final[dict[str, tuple[Panel, ...]]] = {
    "Is it well": (
        _number("Brokers", "none", "sum(kafka_brokers{@})"),
        _number("Partitions offline", "none", "sum(kafka_controller_kafkacontroller_offlinepartitionscount{@})", bad=1),
        _number("Under-replicated", "none", f"sum({_REPLICAS}_underreplicatedpartitions{{@}})", bad=1),
        _number("Below min.insync.replicas", "none", f"sum({_REPLICAS}_underminisrpartitioncount{{@}})", bad=1),
        _number("Directories offline", "none", "sum(kafka_log_logmanager_offlinelogdirectorycount{@})", bad=1),
        _number(
            "Disk in use",
            "percentunit",
            "max(1 - pykbroker_log_directory_free_bytes{@} / pykbroker_log_directory_total_bytes{@})",
            bad=0.8,
        ),
        _number(
            "Core in use", "percentunit", "max(rate(pykbroker_loop_cpu_seconds_total{@}[$__rate_interval]))", bad=0.8
        ),
        _number("Longest wait", "s", "max(pykbroker_loop_lag_longest_seconds{@})", bad=1),
        _number("Largest lag", "short", "max(kafka_consumergroup_lag_sum{@})"),
        _number("Memory", "bytes", "sum(process_resident_memory_bytes{@})"),
        _number("Connections", "short", "sum(kafka_server_socket_server_metrics_connection_count{@})"),
        _number("Topics", "short", "sum(kafka_controller_kafkacontroller_globaltopiccount{@})"),
        _number("Partitions", "short", "sum(kafka_controller_kafkacontroller_globalpartitioncount{@})"),
        _number("Groups", "short", "sum(kafka_coordinator_group_groupmetadatamanager_numgroups{@})"),
        _number("Oldest transaction", "s", "max(pykbroker_transaction_oldest_seconds{@})", bad=900),
        _number("Running for", "s", "time() - min(process_start_time_seconds{@})"),
    ),
    "Records": (
        _lines("Records in", "cps", (_rate(f"{_BROKERTOPIC}_messagesin_total", "topic", _TOPIC), "{{topic}}")),
        _lines("Bytes in", "Bps", (_rate(f"{_BROKERTOPIC}_bytesin_total", "topic", _TOPIC), "{{topic}}")),
        _lines("Bytes out", "Bps", (_rate(f"{_BROKERTOPIC}_bytesout_total", "topic", _TOPIC), "{{topic}}")),
        _lines(
            "Records in a produce",
            "short",
            (
                (
                    f"{_rate(f'{_BROKERTOPIC}_messagesin_total', 'topic', _TOPIC)}"
                    f" / {_rate(f'{_BROKERTOPIC}_totalproducerequests_total', 'topic', _TOPIC)}"
                ),
                "{{topic}}",
            ),
        ),
        _lines(
            "Refused",
            "cps",
            (_rate(f"{_BROKERTOPIC}_failedproducerequests_total", "topic", _TOPIC), "produce {{topic}}"),
            (_rate(f"{_BROKERTOPIC}_failedfetchrequests_total", "topic", _TOPIC), "fetch {{topic}}"),
        ),
        _lines("Bytes refused", "Bps", (_rate(f"{_BROKERTOPIC}_bytesrejected_total", "topic", _TOPIC), "{{topic}}")),
    ),
    "Requests": (
        _lines("Requests", "reqps", (_rate(f"{_REQUESTS}_requests_total", "request"), "{{request}}")),
        _lines(
            "Errors",
            "cps",
            (_rate(f"{_REQUESTS}_errors_total", "request, error", ',error!="NONE"'), "{{request}} {{error}}"),
        ),
        _lines("99 of 100 took less than", "s", (_SLOWEST, "{{request}}")),
        _lines("The broker at work, on average", "ms", (_mean(f"{_REQUESTS}_localtimems"), "{{request}}")),
        _lines("Waited for something, on average", "ms", (_mean(f"{_REQUESTS}_remotetimems"), "{{request}}")),
        _lines(
            "Throttled, or closed without an answer",
            "cps",
            (_rate("pykbroker_requests_throttled_total", "request"), "throttled {{request}}"),
            (_rate("pykbroker_requests_closed_total", "request"), "closed {{request}}"),
        ),
    ),
    "Groups": (
        _lines(
            "Lag",
            "short",
            (
                f"sum by (consumergroup, topic) (kafka_consumergroup_lag_sum{{@{_GROUP}{_TOPIC}}})",
                "{{consumergroup}} {{topic}}",
            ),
        ),
        _lines(
            "Lag of the worst partitions",
            "short",
            (
                f"topk(10, kafka_consumergroup_lag{{@{_GROUP}{_TOPIC}}})",
                "{{consumergroup}} {{topic}}-{{partition}}",
            ),
        ),
        _lines(
            "Committed",
            "cps",
            (
                (
                    "sum by (consumergroup, topic) "
                    f"(deriv(kafka_consumergroup_current_offset_sum{{@{_GROUP}{_TOPIC}}}[$__rate_interval]))"
                ),
                "{{consumergroup}} {{topic}}",
            ),
        ),
        _lines(
            "Members",
            "short",
            (f"sum by (consumergroup) (kafka_consumergroup_members{{@{_GROUP}}})", "{{consumergroup}}"),
        ),
        _lines("Groups by state", "short", ("sum by (type, state) (pykbroker_groups{@})", "{{type}} {{state}}")),
        _lines(
            "Acknowledged by share groups",
            "cps",
            (_rate("kafka_server_sharegroupmetrics_recordacknowledgements_total", "ackType"), "{{ackType}}"),
        ),
        _lines(
            "Not stable",
            "short",
            (
                f'pykbroker_group_state{{@{_GROUP},state!~"Stable|Empty"}}',
                "{{consumergroup}} {{state}}",
            ),
        ),
    ),
    "Partitions and brokers": (
        _lines("Size", "bytes", (f"sum by (topic) (kafka_log_log_size{{@{_TOPIC}}})", "{{topic}}")),
        _lines("Segments", "short", (f"sum by (topic) (kafka_log_log_numlogsegments{{@{_TOPIC}}})", "{{topic}}")),
        _lines(
            "Not readable yet for readers of committed records",
            "short",
            (f"sum by (topic) (kafka_cluster_partition_laststableoffsetlag{{@{_TOPIC}}})", "{{topic}}"),
        ),
        _lines(
            "Partitions led",
            "short",
            (f"sum by (instance, broker) ({_REPLICAS}_leadercount{{@}})", "{{instance}} broker {{broker}}"),
        ),
        _lines(
            "Leaders and in-sync replicas that change",
            "cps",
            (_rate("pykbroker_leader_changes_total"), "leaders"),
            (_rate(f"{_REPLICAS}_isrshrinks_total"), "ISR shrinks"),
            (_rate(f"{_REPLICAS}_isrexpands_total"), "ISR expands"),
        ),
        _lines(
            "Records that replicas lack",
            "short",
            (
                "max by (instance, broker) (kafka_server_replicafetchermanager_maxlag{@})",
                "{{instance}} broker {{broker}}",
            ),
        ),
        _lines(
            "Throttled replication",
            "Bps",
            (
                "sum by (instance, broker) (kafka_server_leaderreplication_byte_rate{@})",
                "sent by {{instance}} broker {{broker}}",
            ),
            (
                "sum by (instance, broker) (kafka_server_followerreplication_byte_rate{@})",
                "fetched by {{instance}} broker {{broker}}",
            ),
        ),
        _lines(
            "Producer ids and fetch sessions",
            "short",
            (f"sum({_REPLICAS}_produceridcount{{@}})", "producer ids"),
            ("sum(kafka_server_fetchsessioncache_numincrementalfetchsessions{@})", "fetch sessions"),
        ),
    ),
    "Transactions": (
        _lines("By state", "short", ("sum by (state) (pykbroker_transactions{@})", "{{state}}")),
        _lines("The oldest has been open for", "s", ("max(pykbroker_transaction_oldest_seconds{@})", "oldest")),
        _lines("Later than their timeout", "short", ("sum(pykbroker_transactions_late{@})", "late")),
    ),
    "Connections": (
        _lines(
            "Open",
            "short",
            (
                "sum by (broker, listener) (kafka_server_socket_server_metrics_connection_count{@})",
                "broker {{broker}} {{listener}}",
            ),
        ),
        _lines(
            "Accepted",
            "cps",
            (_rate("kafka_server_socket_server_metrics_connection_creation_total", "broker"), "broker {{broker}}"),
        ),
        _lines(
            "Clients",
            "short",
            (
                (
                    "sum by (clientSoftwareName, clientSoftwareVersion)"
                    " (kafka_server_socket_server_metrics_connections_software{@})"
                ),
                "{{clientSoftwareName}} {{clientSoftwareVersion}}",
            ),
        ),
        _lines("Answers that clients have not taken", "bytes", ("sum(pykbroker_unsent_bytes{@})", "unsent")),
        _lines(
            "Memory budget",
            "bytes",
            ("sum by (use) (pykbroker_memory_used_bytes{@})", "{{use}}"),
            ("sum(pykbroker_memory_limit_bytes{@})", "limit"),
        ),
        _lines("Waits for memory", "cps", (_rate("pykbroker_memory_waits_total"), "waits")),
    ),
    "Log directories and compaction": (
        _lines(
            "Free",
            "bytes",
            (
                "min by (instance, logDirectory) (pykbroker_log_directory_free_bytes{@})",
                "{{instance}} {{logDirectory}}",
            ),
        ),
        _lines(
            "Full, or offline",
            "short",
            ("max by (logDirectory) (pykbroker_log_directory_full{@})", "full {{logDirectory}}"),
            ("max by (logDirectory) (kafka_log_logmanager_logdirectoryoffline{@})", "offline {{logDirectory}}"),
        ),
        _lines("Not compacted yet", "bytes", ("sum(pykbroker_compaction_dirty_bytes{@})", "dirty")),
        _lines(
            "Compaction",
            "Bps",
            (_rate("pykbroker_compaction_read_bytes_total"), "read"),
            (_rate("pykbroker_compaction_written_bytes_total"), "written"),
        ),
        _lines(
            "Compactions",
            "cps",
            (_rate("pykbroker_compactions_total"), "done"),
            (_rate("pykbroker_compactions_failed_total"), "failed"),
        ),
        _lines(
            "Logs",
            "short",
            ("sum(pykbroker_logs_open{@})", "open"),
            ("sum(pykbroker_logs_closed{@})", "closed since the start"),
            ("sum(pykbroker_recovered_logs{@})", "recovered by the start"),
        ),
    ),
    "Process": (
        _lines(
            "Processor",
            "percentunit",
            (_rate("pykbroker_loop_cpu_seconds_total", "instance"), "{{instance}} event loop"),
            (_rate("process_cpu_seconds_total", "instance"), "{{instance}} all threads"),
        ),
        _lines(
            "How late the event loop is",
            "s",
            ('max by (quantile) (pykbroker_loop_lag_seconds{@,quantile!=""})', "quantile {{quantile}}"),
            ("max(pykbroker_loop_lag_longest_seconds{@})", "longest"),
        ),
        _lines("Memory", "bytes", ("sum by (instance) (process_resident_memory_bytes{@})", "{{instance}}")),
        _lines(
            "Open files",
            "short",
            ("sum by (instance) (process_open_fds{@})", "{{instance}}"),
            ("min by (instance) (process_max_fds{@})", "{{instance}} at most"),
        ),
        _lines(
            "Garbage collections",
            "cps",
            (_rate("python_gc_collections_total", "generation"), "generation {{generation}}"),
        ),
        _lines("Work that is done some in a turn", "short", ("sum(pykbroker_sliced_work{@})", "pieces")),
    ),
}
