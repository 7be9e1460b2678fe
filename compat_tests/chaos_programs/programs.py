"""How the programs are started."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from compat_tests.harness.go_cases import build_go
from compat_tests.harness.java import QUICK, compile_java, java_command

_HERE: Final = Path(__file__).parent


class StartedProgram(NamedTuple):
    """The command of a program that reads lives from lines, and the kind of lives that it is asked for."""

    command: Callable[[], list[str]]
    kind: str
    guarantee: str = "exactly-once"


def _java(jar_set: str = "kafka") -> list[str]:
    """Clients of the release that is followed, or Streams with its own."""
    classes = compile_java([_HERE / "ExactlyOnce.java", _HERE / "StreamsPayer.java"], "streams")
    quiet = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-Dlog4j2.level=OFF"]
    return java_command("ExactlyOnce", jar_set, classes=classes, flags=[*QUICK, *quiet, "-Xmx700m"])


def _python(name: str) -> list[str]:
    return [sys.executable, "-m", f"compat_tests.chaos_programs.{name}"]


def _go() -> list[str]:
    return [str(build_go(_HERE / "franz_go"))]


PROGRAMS: Final = {
    "java-classic": StartedProgram(_java, "classic"),
    "java-consumer": StartedProgram(_java, "consumer"),
    "java-streams": StartedProgram(partial(_java, "streams"), "streams"),
    "librdkafka-classic": StartedProgram(partial(_python, "librdkafka_program"), "classic"),
    "librdkafka-consumer": StartedProgram(partial(_python, "librdkafka_program"), "consumer"),
    "franz-go": StartedProgram(_go, "classic"),
    "aiokafka": StartedProgram(partial(_python, "aiokafka_program"), "classic", "at-least-once"),
}
