"""Runs Java: class paths from Maven, flags for a quick start, programs compiled once per state of their source."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from compat_tests.harness.class_archives import KAFKA, archive_flags
from scripts.jars import ROOT, classpath

CLASSES = ROOT / "build" / "compat-classes"

#: For short runs: one compiler tier and the serial collector start about twice as fast. Never used by the bench.
PLAIN = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
#: The same with the CDS archive of Kafka's classes.
QUICK = [*PLAIN, "-Xshare:auto"]


class JavaMissing(RuntimeError):
    """Java is not installed; the message says what to install."""


def java(tool: str = "java") -> str:
    """Return the path of ``java`` or ``javac``. Raises JavaMissing."""
    found = shutil.which(tool)
    if found is None:
        raise JavaMissing(
            f"{tool} is not installed; the tests need Java 17 (on Debian: apt-get install openjdk-17-jdk)."
        )
    return found


def compile_java(sources: list[Path], *jar_sets: str) -> Path:
    """Compile ``sources`` against jar sets, unless already compiled, and return the folder of classes.

    The folder's name is a digest of the sources and of the sets, so a changed source never meets old classes.
    """
    path = ":".join(map(classpath, jar_sets))
    digest = hashlib.sha256(path.encode())
    for source in sources:
        digest.update(source.read_bytes())
    target = CLASSES / f"{'-'.join(jar_sets)}-{digest.hexdigest()[:16]}"
    if not (target / ".done").exists():
        target.mkdir(parents=True, exist_ok=True)
        command = [
            java("javac"),
            *(f"-J{flag}" for flag in PLAIN),
            "-nowarn",
            "-proc:none",
            "-cp",
            path,
            "-d",
            str(target),
            *map(str, sources),
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"javac refused {', '.join(s.name for s in sources)}:\n{done.stdout}")
        (target / ".done").touch()
    return target


def java_command(main: str, jar_set: str, *, classes: Path | None = None, flags: list[str] | None = None) -> list[str]:
    """Return a command line that runs the class ``main``; the caller adds arguments."""
    # the archive requires its jars to come first
    path = classpath(jar_set) if classes is None else f"{classpath(jar_set)}:{classes}"
    flags = QUICK if flags is None else flags
    archive = archive_flags(java(), main) if jar_set == KAFKA and QUICK[-1] in flags else []
    return [java(), *flags, *archive, "-cp", path, main]
