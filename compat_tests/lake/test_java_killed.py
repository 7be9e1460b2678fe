"""Java, in which Spark runs, is killed, as by a machine without memory: the command says so in one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from compat_tests.harness.awaiting import eventually
from compat_tests.harness.process import ROOT
from compat_tests.lake.conftest import SMALL
from compat_tests.spark.topics import Topics
from scripts.jars import jars


def java_of(parent: int) -> int | None:
    """The process id of the Java that a command has started, directly or by a shell."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        children.setdefault(int(rest.split()[1]), []).append((int(stat.parent.name), name))
    seen = [parent]
    while seen:
        for pid, name in children.get(seen.pop(), []):
            if name == "java":
                return pid
            seen.append(pid)
    return None


def test_the_command_says_it(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    topics.send(topic, range(10))
    lake = tmp_path / "lake"
    command = [
        *(
            sys.executable,
            "-m",
            "pykbroker",
            "lake",
            "archive",
            "--topics",
            topic,
            "--to",
            str(lake),
            "--follow",
            "--every",
            "50ms",
        ),
        *("-b", topics.bootstrap, "--master", "local[1]", "--jars", ",".join(map(str, jars("spark")))),
        *(word for name, value in SMALL.items() for word in ("--conf", f"{name}={value}")),
    ]
    job = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        eventually(lambda: list((lake / "ledger").glob("*.json")), bool)
        java = java_of(job.pid)
        assert java is not None
        os.kill(java, signal.SIGKILL)
        out, err = job.communicate(timeout=120)
    finally:
        job.kill()
    assert job.returncode == 1
    assert "Java, in which Spark runs, has ended" in " ".join(err.split())
    assert "Traceback" not in out + err, err
    assert "py4j" not in out + err, err
