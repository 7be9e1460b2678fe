"""A Kafka Streams application as a process."""

from __future__ import annotations

import shutil
from pathlib import Path

from compat_tests.harness.java import QUICK, compile_java, java_command
from compat_tests.harness.process import ServerProcess


class StreamsApp(ServerProcess):
    """The Java class ``main`` of this folder, called with (bootstrap, application id, state folder, ``arguments``...).

    Each start goes on where the one before ended; ``arguments`` may have changed until then.
    """

    name = "streams"
    log_name = "app.log"

    def __init__(self, folder: Path, main: str, bootstrap: str, application_id: str, *arguments: str) -> None:
        super().__init__(folder)
        self.application_id = application_id
        self.state = folder / "state"
        self.arguments = [bootstrap, application_id, str(self.state), *arguments]
        self._main = main

    def command(self) -> list[str]:
        classes = compile_java([Path(__file__).parent / f"{self._main}.java"], "streams")
        return [
            *java_command(
                self._main,
                "streams",
                classes=classes,
                flags=[*QUICK, "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"],
            ),
            *self.arguments,
        ]

    def kill(self) -> int:
        """The same, and without its stores: Streams 4.3.1 does not start over files of RocksDB that a kill has torn (ProcessorStateException of
        ``KafkaStreams.start``), and has all that was committed in its changelogs. Which transactional ids it has, it remembers.
        """
        status = super().kill()
        for task in self.state.glob("*/*_*"):
            shutil.rmtree(task)
        return status

    def is_ready(self) -> bool:
        """It answers nobody: what it writes says that it works."""
        return True
