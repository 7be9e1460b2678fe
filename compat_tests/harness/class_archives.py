"""Class data sharing (CDS) archives of the classes that Java loads for Apache Kafka, its clients and its tools.

With them a broker starts in two thirds of the processor time, a tool in half. They are created once per state of the jars,
from the classes of a broker, of a program with all three clients, and of a tool with them.
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

#: The sets of jars of Kafka's brokers and clients, and of its tools, which are those of an earlier release.
KAFKA, TOOLS = "kafka", "kafka-4.3"
#: The broker's main class, which loads more than clients do, and what is started like it.
_BROKER = "kafka.Kafka"
_LIKE_BROKER = (_BROKER, "kafka.tools.StorageTool")
#: A program with all three clients, and a tool with them.
EVERY_CLIENT = Path(__file__).with_name("java_src") / "EveryClient.java"
_TOOL = "org.apache.kafka.tools.EndToEndLatency"
_FOLDER = ROOT / "build" / "class-archives"
_MADE = "made"


def archive_flags(java: str, main: str, jar_set: str) -> list[str]:
    """Return flags that start ``main`` of a set of jars with its archive; Java ignores an archive that does not match."""
    if jar_set not in (KAFKA, TOOLS):
        return []
    archive = _folder(java) / _archive(jar_set, broker=main in _LIKE_BROKER)
    return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


def _archive(jar_set: str, *, broker: bool) -> str:
    return f"{jar_set}-{'broker' if broker else 'clients'}.jsa"


@functools.cache
def _folder(java: str) -> Path:
    """Return the folder of the archives, which the first caller creates."""
    key = hashlib.sha256(str(Path(java).resolve()).encode())
    for jar in jars(KAFKA) + jars(TOOLS):
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
    """Run a broker, and clients that create a topic, produce and consume; each writes its archive when it exits."""
    from compat_tests.harness.apache import ApacheKafka
    from compat_tests.harness.java import PLAIN, java_command

    def recording(jar_set: str, *, broker: bool = False) -> list[str]:
        return [*PLAIN, f"-XX:ArchiveClassesAtExit={folder / _archive(jar_set, broker=broker)}"]

    with tempfile.TemporaryDirectory() as place:
        flags = [*recording(KAFKA, broker=True), "-Xmx700m"]
        broker = ApacheKafka(Path(place) / "kafka", flags=flags, formatting=PLAIN)
        broker.start()
        try:
            # Java compiles the file itself: an archive has no classes from folders.
            _run([*java_command(str(EVERY_CLIENT), KAFKA, flags=recording(KAFKA)), broker.bootstrap])
            where = ["--bootstrap-server", broker.bootstrap, "--topic", "archive"]
            how = ["--num-records", "10", "--producer-acks", "1", "--record-size", "10"]
            _run([*java_command(_TOOL, TOOLS, flags=recording(TOOLS)), *where, *how])
        finally:
            broker.stop()


def _run(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
