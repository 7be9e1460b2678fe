"""Prometheus itself, with one target."""

from __future__ import annotations

import json
import shutil
import socket
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from compat_tests.harness.process import ServerProcess

PROGRAM = shutil.which("prometheus")
_CONFIG = """
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: kafka
    static_configs: [{{targets: ["{target}"]}}]
"""


class Prometheus(ServerProcess):
    """Scrapes ``target``, ``host:port``, every second."""

    name = "Prometheus"

    def __init__(self, folder: Path, target: str) -> None:
        super().__init__(folder)
        self._target = target
        with socket.create_server((self.host, 0)) as free:
            self.port = free.getsockname()[1]

    def command(self) -> list[str]:
        config = self.folder / "prometheus.yml"
        config.write_text(_CONFIG.format(target=self._target))
        assert PROGRAM is not None
        return [
            *(PROGRAM, f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'data'}"),
            f"--web.listen-address={self.host}:{self.port}",
        ]

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self.port}/-/ready", timeout=10):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def ask(self, path: str, **words: str) -> Any:
        """The data of an answer of its interface. Raises AssertionError with what it says of a query that it refuses."""
        url = f"http://{self.host}:{self.port}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{words}: {json.load(error)['error']}") from error

    def query(self, text: str) -> list[dict[str, Any]]:
        """The lines that a query gives now: each has its labels as ``metric`` and its ``value``."""
        result: list[dict[str, Any]] = self.ask("query", query=text)["result"]
        return result
