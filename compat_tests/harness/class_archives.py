"""Class data sharing (CDS) archives of the classes that Java loads for Apache Kafka and its clients.

With them a broker starts in two thirds of the processor time, a tool in half. They are created once per set of jars,
from the classes of a broker and of a tool with all three clients.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from scripts.jars import ROOT, jars

#: The set of jars of Kafka's brokers and tools.
KAFKA = "kafka"
BROKER, CLIENTS = "kafka.Kafka", "org.apache.kafka.tools.EndToEndLatency"
#: The broker's main class, which loads more than clients do.
_LIKE_BROKER = (BROKER, "kafka.tools.StorageTool")
_FOLDER = ROOT / "build" / "class-archives"
_MADE = "made"


def archive_flags(java: str, main: str) -> list[str]:
    """Return flags that start ``main`` of Kafka's jars with the archive; Java ignores an archive that does not match."""
    archive = _folder(java) / f"{BROKER if main in _LIKE_BROKER else CLIENTS}.jsa"
    return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


@functools.cache
def _folder(java: str) -> Path:
    """Return the folder of the archives, which the first caller creates."""
    key = hashlib.sha256(str(Path(java).resolve()).encode())
    for jar in jars(KAFKA):
        known = jar.stat()
        key.update(f" {jar} {known.st_size} {known.st_mtime_ns}".encode())
    folder = _FOLDER / key.hexdigest()[:16]
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may call this at once
        if not (folder / _MADE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            _make(folder)
            (folder / _MADE).touch()
    return folder


def _make(folder: Path) -> None:
    """Run a broker, and a tool that creates a topic, produces and consumes; each writes its archive when it exits."""
    from compat_tests.harness.apache import ApacheKafka
    from compat_tests.harness.java import PLAIN, java_command

    def recording(main: str) -> list[str]:
        return [*PLAIN, f"-XX:ArchiveClassesAtExit={folder / main}.jsa"]

    with tempfile.TemporaryDirectory() as place:
        broker = ApacheKafka(Path(place) / "kafka", flags=[*recording(BROKER), "-Xmx700m"], formatting=PLAIN)
        broker.start()
        try:
            where = ["--bootstrap-server", broker.bootstrap, "--topic", "archive"]
            how = ["--num-records", "10", "--producer-acks", "1", "--record-size", "10"]
            command = [*java_command(CLIENTS, KAFKA, flags=recording(CLIENTS)), *where, *how]
            subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
        finally:
            broker.stop()
