"""Runs pykbroker as users do: ``python -m pykbroker serve``."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from compat_tests.harness.process import NO_RETENTION_MS, BrokerProcess
from pykbroker.tests.kit.ports import free_ports

_READY = re.compile(rb"^pykbroker ready: (.*)$", re.MULTILINE)
_BROKER = re.compile(r"broker (\d+) on ([^\s,:]+):(\d+)")


class Pykbroker(BrokerProcess):
    """One pykbroker process with one or several brokers. It keeps its ports across restarts."""

    name = "pykbroker"

    def __init__(
        self, folder: Path, settings: dict[str, str] | None = None, *, brokers: int = 1, racks: Sequence[str] = ()
    ) -> None:
        super().__init__(folder, settings)
        self.brokers = brokers
        self.racks = racks
        #: Node id to ``host:port`` of every broker of the process.
        self.addresses: dict[int, str] = {}
        self._log_start = 0

    def start(self) -> None:
        self._log_start = self.log_file.stat().st_size if self.log_file.exists() else 0
        self.port = self.port or free_ports(self.brokers)[0]
        super().start()

    def command(self) -> list[str]:
        command = [sys.executable, "-m", "pykbroker", "serve"]
        command += [] if "log.dirs" in self.settings else ["--data-dir", str(self.data_dir)]
        command += [] if "listeners" in self.settings else ["--listen", f"{self.host}:{self.port}"]
        if self.brokers > 1:
            command += ["--brokers", str(self.brokers)]
        if self.racks:
            command += ["--racks", ",".join(self.racks)]
        for name, value in {"log.initial.task.delay.ms": NO_RETENTION_MS, **self.settings}.items():
            command += ["--set", f"{name}={value}"]
        return command

    def change_broker(self, what: str, broker: int, *options: str) -> None:
        """Run ``pykbroker brokers``: ``change_broker("stop", 2, "--abrupt")``."""
        command = [sys.executable, "-m", "pykbroker", "brokers", what, str(broker), *options]
        subprocess.run([*command, "--data-dir", str(self.data_dir)], check=True, stdout=subprocess.DEVNULL)

    def is_ready(self) -> bool:
        with self.log_file.open("rb") as log:
            log.seek(self._log_start)
            line = _READY.search(log.read())
        if line is None:
            return False
        found = _BROKER.findall(line.group(1).decode())
        self.addresses = {int(node): f"{host}:{port}" for node, host, port in found}
        self.port = int(found[0][2])
        return True
