"""Connect over SASL_SSL, and in it MirrorMaker's source connector: one worker whose topics, connectors and both clusters of the
mirror are pykbroker's, with the settings that ``pykbroker serve --security`` prints.
"""

from __future__ import annotations

from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.connect.connectors import Connector
from compat_tests.connect.seen import await_file
from compat_tests.connect.worker import Worker
from compat_tests.harness.pasted import served
from pykbroker.storage.properties import parse_properties

LINES = [f"line {number}" for number in range(500)]


def prefixed(settings: dict[str, str], *prefixes: str) -> dict[str, str]:
    return {prefix + name: value for prefix in prefixes for name, value in settings.items()}


def test_lines_go_through_connect_and_a_mirror(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("".join(line + "\n" for line in LINES))
    with served(tmp_path, "sasl_ssl") as pasted:
        admin = AdminClient(pasted.librdkafka)  # which ends what it does when nobody has it any more
        admin.create_topics([NewTopic("lines", 1)])["lines"].result(60)
        client = parse_properties(pasted.java)
        security = {name: value for name, value in client.items() if name != "bootstrap.servers"}
        worker = Worker(
            tmp_path / "worker",
            client["bootstrap.servers"],
            "secured",
            {"exactly.once.source.support": "enabled", **prefixed(security, "", "producer.", "consumer.", "admin.")},
        )
        worker.start()
        try:
            Connector(worker, "source").create("FileStreamSource", file=str(tmp_path / "lines.txt"), topic="lines")
            Connector(worker, "mirror").create(
                "org.apache.kafka.connect.mirror.MirrorSourceConnector",
                **{"source.cluster.alias": "a", "target.cluster.alias": "b", "topics": "lines"},
                **{"replication.factor": "1", "offset-syncs.topic.replication.factor": "1"},
                **{
                    f"{kind}.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"
                    for kind in ("key", "value")
                },
                **prefixed(client, "source.cluster.", "target.cluster."),
            )
            Connector(worker, "sink").create("FileStreamSink", file=str(tmp_path / "sink.txt"), topics="a.lines")
            await_file(tmp_path / "sink.txt", LINES)
        finally:
            worker.kill()
