"""``kafka-log-dirs``: the log directories of brokers and their replicas, as JSON."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from pykbroker.client.client import Client
from pykbroker.client.log_dir_state import describe_log_dirs
from pykbroker.container.tools.exceptions import exception_class
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import Options, ToolError, connect
from pykbroker.runtime.escaping import escaped_json
from pykbroker.wire.messages.describe_log_dirs import DescribeLogDirsResult


def main(words: list[str]) -> None:
    made = Options("kafka-log-dirs", "Say what lies in the log directories of brokers.")
    made.connecting(also=())
    made.flags("describe")
    made.add_argument("--topic-list", metavar="NAME,...", default="", help="of these topics alone")
    made.add_argument("--broker-list", metavar="ID,...", default="", help="these brokers alone")
    options = made.parse_args(words)
    if not options.describe:
        raise ToolError("Missing required argument --describe.")
    with connect(options) as client:
        _describe(client, options)


def _describe(client: Client, options: argparse.Namespace) -> None:
    known = client.node_ids()
    wanted = [_id(text) for text in options.broker_list.split(",") if text] or known
    if missing := sorted(set(wanted) - set(known)):
        raise ToolError(
            f"ERROR: The given brokers do not exist from --broker-list: {_joined(missing)}. "
            f"Current existent brokers: {_joined(known)}"
        )
    print_lines("Querying brokers for log directories information")
    topics = {name for name in options.topic_list.split(",") if name}
    brokers = [
        {"broker": node, "logDirs": [_directory(found, topics) for found in _ask(client, node)]}
        for node in dict.fromkeys(wanted)
    ]
    print_lines(f"Received log directory information from brokers {_joined(dict.fromkeys(wanted))}")
    print_lines(escaped_json({"brokers": brokers, "version": 1}, separators=(",", ":")))


def _ask(client: Client, node: int) -> list[DescribeLogDirsResult]:
    return client.retrying(partial(describe_log_dirs, client.node(node)))


def _directory(found: DescribeLogDirsResult, topics: set[str]) -> dict[str, Any]:
    partitions = [
        {
            "partition": f"{topic.name}-{each.partition_index}",
            "size": each.partition_size,
            "offsetLag": each.offset_lag,
            "isFuture": each.is_future_key,
        }
        for topic in found.topics
        if not topics or topic.name in topics
        for each in topic.partitions
    ]
    error = exception_class(found.error_code) if found.error_code else None
    return {"partitions": partitions, "error": error, "logDir": found.log_dir}


def _id(text: str) -> int:
    if not text.isdecimal():
        raise ToolError(f"--broker-list takes ids of brokers, and {text!r} is none.")
    return int(text)


def _joined(ids: object) -> str:
    return ",".join(map(str, ids))  # type: ignore[call-overload]
