"""What three clients say of a cluster that is none: Java's, librdkafka's, and our commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin
import pytest

from compat_tests.harness.awaiting import until
from compat_tests.harness.java import QUICK, compile_java, java_command
from compat_tests.harness.process import ROOT

PATIENCE_S = 2
#: After so many milliseconds Attacked.java no longer waits for an end; without it, it waits for ever.
LIMIT = "attacked.limit.ms"


def properties(path: Path, settings: dict[str, str], patience_s: int = PATIENCE_S) -> Path:
    """Settings of Java's client and ours, in a file; they give up after ``patience_s``."""
    patience = {"default.api.timeout.ms": patience_s * 1000, "request.timeout.ms": patience_s * 750}
    path.write_text("".join(f"{name}={value}\n" for name, value in {**settings, **patience}.items()))
    return path


def java_client(files: list[Path], *flags: str) -> list[str]:
    """What each file's settings lead to, all at once in one Java process; "waits on" where that is nothing (``LIMIT``)."""
    classes = compile_java([Path(__file__).with_name("Attacked.java")], "kafka")
    command = [*java_command("Attacked", "kafka", classes=classes, flags=[*QUICK, *flags]), *map(str, files)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    said = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    return [said[str(file)] for file in files]


def librdkafka(settings: dict[str, str], wanted: str) -> None:
    """A question fails, and its errors have these words."""
    errors: list[str] = []
    admin = confluent_kafka.admin.AdminClient({
        **settings,
        "socket.timeout.ms": PATIENCE_S * 1000,
        "api.version.request.timeout.ms": PATIENCE_S * 1000,
        "log_level": 0,
        "error_cb": lambda error: errors.append(str(error)),
    })  # fmt: skip
    with pytest.raises(confluent_kafka.KafkaException) as failed:
        admin.list_topics(timeout=PATIENCE_S)
    errors.append(str(failed.value))

    def said_it() -> bool:
        admin.poll(0.1)
        return wanted in "; ".join(errors)

    until(said_it, f"never said: {wanted}")


def ours(*words: str, command_config: Path) -> list[str]:
    """The command line of one of our commands."""
    return [sys.executable, "-m", "pykbroker", *words, "--command-config", str(command_config)]


def our_client(file: Path, patience_s: int = 120) -> subprocess.CompletedProcess[str]:
    command = [*ours("topics", "list", command_config=file), "--timeout", str(patience_s)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
