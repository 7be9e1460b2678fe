"""``kafka-server-stop``: a signal to the broker of this container, which then shuts down cleanly."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from pathlib import Path

from pykbroker.container.tools.running import Options, ToolError

_OF_IMAGE = ("run", "launch")
#: The process whose end is that of the container.
_FIRST = 1


def main(words: list[str]) -> None:
    made = Options("kafka-server-stop", "Have the broker of this container shut down.")
    made.add_argument("ignored", metavar="server.properties", nargs="*", help=argparse.SUPPRESS)
    made.parse_args(words)
    found = list(brokers(Path("/proc")))
    if not found:
        raise ToolError("No kafka server to stop")
    if _FIRST in found:
        _leave_to_child()
    for number in found:
        os.kill(number, signal.SIGTERM)


def _leave_to_child() -> None:
    """Go on in a child when this process has ended: the end of the first process of a container ends all others, and this
    one would be reported as killed.
    """
    until, open_here = os.pipe()
    if os.fork():
        os.close(until)  # the other end is open until this process ends
        os._exit(0)
    os.close(open_here)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)  # an engine waits until its streams are closed
    os.read(until, 1)


def brokers(processes: Path) -> Iterator[int]:
    """The numbers of the processes that are brokers and have the same root as this one, so that others' are left alone."""
    for folder in processes.iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
                is_here = (folder / "root").samefile("/")
            except OSError:
                continue  # it has ended, or is somebody else's
            if is_here and is_broker(words):
                yield int(folder.name)


def is_broker(words: Sequence[str]) -> bool:
    """Whether a process that was started by these words is a broker: by the image's scripts, by Kafka's, or by ``serve``."""
    if not words or not Path(words[0]).name.startswith("python"):
        return False
    match list(dropwhile(lambda word: word.startswith("-") and word != "-m", words[1:])):
        case ["-m", "pykbroker.container", "tool", name, *given]:
            command = name.removesuffix(".sh")
            return command == "kafka-server-start" or (command == "kafka-run-class" and "kafka.Kafka" in given)
        case ["-m", "pykbroker.container", step, *_]:
            return step in _OF_IMAGE
        case ["-m", "pykbroker", "serve", *_]:
            return True
        case [program, "serve", *_]:
            return Path(program).name == "pykbroker"
    return False
