"""Kafka Connect 4.3.1 in distributed mode: a worker as a process, and its REST interface."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from compat_tests.harness.java import QUICK, java_command
from compat_tests.harness.process import ServerProcess
from pykbroker.tests.kit.ports import free_ports

_MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
_FLAGS = [*QUICK, "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
_SETTINGS = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    **{f"{topic}.storage.replication.factor": "1" for topic in ("config", "offset", "status")},
    "offset.storage.partitions": "3",
    "status.storage.partitions": "2",
    "offset.flush.interval.ms": "200",  # how often a source without transactions commits, and a sink flushes
    "plugin.discovery": "service_load",  # quicker than reading every class
    "session.timeout.ms": "6000",  # how soon a killed worker is missed
    "heartbeat.interval.ms": "500",
    "scheduled.rebalance.max.delay.ms": "0",  # what a killed worker had goes to the others at once
}


class Refused(Exception):
    """Connect answered with an error; ``args`` are the HTTP status and the body."""


class Worker(ServerProcess):
    """One worker. Workers with the same ``group`` on the same broker share their connectors."""

    name = "connect"
    log_name = "worker.log"

    def __init__(self, folder: Path, bootstrap: str, group: str, settings: dict[str, str] | None = None) -> None:
        super().__init__(folder)
        (self.port,) = free_ports(1)
        self._settings = {
            **_SETTINGS,
            "bootstrap.servers": bootstrap,
            "group.id": group,
            **{f"{topic}.storage.topic": f"{group}-{topic}" for topic in ("config", "offset", "status")},
            "listeners": f"http://{self.host}:{self.port}",
            **(settings or {}),
        }

    @property
    def worker_id(self) -> str:
        """What the status of a task names its worker by."""
        return f"{self.host}:{self.port}"

    def command(self) -> list[str]:
        properties = self.folder / "worker.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in self._settings.items()))
        return [*java_command(_MAIN, "connect", flags=_FLAGS), str(properties)]

    def is_ready(self) -> bool:
        try:
            self._send("GET", "/connectors", None)
        except (OSError, Refused):
            return False
        return True

    # ---- the REST interface

    def ask(self, method: str, path: str, body: Any = None, limit_s: float = 60.0) -> Any:
        """The decoded answer. Asks again while the workers rebalance, as Connect wants it of its users.

        Raises Refused with any other error.
        """
        deadline = time.monotonic() + limit_s
        while True:
            try:
                return self._send(method, path, body)
            except Refused as refused:
                # 409: a rebalance is under way. 500: the leader this worker forwards to is the one that was killed.
                if refused.args[0] not in (409, 500) or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def _send(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        url = f"http://{self.host}:{self.port}{path}"
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(error.code, error.read().decode(errors="replace")) from None
