"""Archives of the classes that Java loads for Apache Kafka and for its clients, mapped where they would be read and checked:
a broker starts with two thirds of the processor time, a tool with half.

They are made once for the jars as they lie there, of what a broker and a tool with all three clients load.
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

#: The set of jars that Kafka's brokers and tools are started from.
KAFKA = "kafka"
BROKER, CLIENTS = "kafka.Kafka", "org.apache.kafka.tools.EndToEndLatency"
#: Loads what the broker loads, more than what clients do.
_LIKE_BROKER = (BROKER, "kafka.tools.StorageTool")
_FOLDER = ROOT / "build" / "class-archives"
_MADE = "made"


def archive_flags(java: str, main: str) -> list[str]:
    """What has ``java`` start ``main`` of Kafka's jars with the archive; Java goes on without one that does not fit."""
    archive = _folder(java) / f"{BROKER if main in _LIKE_BROKER else CLIENTS}.jsa"
    return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


@functools.cache
def _folder(java: str) -> Path:
    """Where the archives lie, made by whoever comes first."""
    key = hashlib.sha256(str(Path(java).resolve()).encode())
    for jar in jars(KAFKA):
        known = jar.stat()
        key.update(f" {jar} {known.st_size} {known.st_mtime_ns}".encode())
    folder = _FOLDER / key.hexdigest()[:16]
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may ask at once
        if not (folder / _MADE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            _make(folder)
            (folder / _MADE).touch()
    return folder


def _make(folder: Path) -> None:
    """A broker serves a tool that makes a topic, writes and reads; each writes its archive when it ends."""
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
