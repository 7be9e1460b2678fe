"""A pytest plugin: who made the sockets that Python's collector finds open.

It finds them at any time later, and pytest then blames the test that runs. The summary names the test that made each. One that the code
of an installed package made is that client's affair and fails no test: kafka-python leaves the socket of a connection that is being made
when its client is closed.
"""

from __future__ import annotations

import inspect
import socket
import sys
import sysconfig
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

import pytest


class Maker(NamedTuple):
    """Where a socket was made."""

    test: str
    file: str
    line: int

    @property
    def is_installed(self) -> bool:
        """Whether an installed package made it, and not this project or its tests."""
        return "site-packages" in self.file

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.test or 'no test'}"


class Unclosed:
    """Remembers the maker of each socket by its descriptor, which nothing else has while the socket is open."""

    def __init__(self) -> None:
        self.test = ""
        self.found: list[tuple[str, Maker | None]] = []
        self._made: dict[int, Maker] = {}
        self._was = socket.socket.__init__
        self._hook: Callable[[sys.UnraisableHookArgs], Any] = sys.unraisablehook

    def watch(self) -> None:
        was, noted = self._was, self._noted

        def made(self: socket.socket, *args: Any, **named: Any) -> None:
            was(self, *args, **named)
            noted(self.fileno(), inspect.currentframe())

        self._hook = sys.unraisablehook
        socket.socket.__init__ = made  # type: ignore[method-assign]
        sys.unraisablehook = self._unraisable

    def end(self) -> None:
        socket.socket.__init__ = self._was  # type: ignore[method-assign]

    def _noted(self, descriptor: int, frame: FrameType | None) -> None:
        library = sysconfig.get_path("stdlib")
        while frame is not None:
            file = frame.f_code.co_filename
            if file != __file__ and ("site-packages" in file or not file.startswith(library)):
                break
            frame = frame.f_back
        if frame is not None:
            self._made[descriptor] = Maker(self.test, frame.f_code.co_filename, frame.f_lineno)

    def _unraisable(self, args: sys.UnraisableHookArgs) -> None:
        if isinstance(args.exc_value, ResourceWarning) and isinstance(args.object, socket.socket):
            maker = self._made.get(args.object.fileno())
            self.found.append((str(args.exc_value), maker))
            if maker is not None and maker.is_installed:
                return
        self._hook(args)


_UNCLOSED = pytest.StashKey[Unclosed]()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    config.stash[_UNCLOSED] = Unclosed()
    config.stash[_UNCLOSED].watch()  # after pytest's own hook is there


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_UNCLOSED].end()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.config.stash[_UNCLOSED].test = item.nodeid


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for said, maker in config.stash[_UNCLOSED].found:
        terminalreporter.write_line(f"{said}; made by {maker or 'unknown code'}")
