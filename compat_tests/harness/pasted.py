"""Runs ``pykbroker serve --security`` and divides the settings that it writes for people into those for each client."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_WHERE = re.compile(r"A client connects by the settings in (.*?); files for --command-config: ")


class Pasted:
    """The sections of the text, by client."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = dict(re.findall(r"^# (.*?)\n(.*?)(?=\n\n# )", text, re.MULTILINE | re.DOTALL))

    def _part(self, client: str) -> str:
        (found,) = (part for title, part in self._parts.items() if title.startswith(client))
        return found

    @property
    def java(self) -> str:
        """Return the properties for Java."""
        return self._part("Java")

    @property
    def librdkafka(self) -> dict[str, str]:
        settings: dict[str, str] = json.loads(self._part("librdkafka"))
        assert settings == ast.literal_eval(self._part("librdkafka")), "it is Python as well"
        return settings

    @property
    def python(self) -> dict[str, Any]:
        """Return the keyword arguments for kafka-python."""
        names: dict[str, Any] = {}
        exec(self._part("kafka-python"), {}, names)
        settings: dict[str, Any] = names["settings"]
        return settings

    def spark(self, reader: Any) -> Any:
        """Return ``reader`` with the options for Spark."""
        return eval(f"(reader\n{self._part('Spark')}\n)", {"reader": reader})


@contextmanager
def served(folder: Path, protocol: str, *options: str) -> Iterator[Pasted]:
    """Yield a process whose data, keys and passwords are in ``folder``."""
    command = [sys.executable, "-m", "pykbroker", "serve", "--security", protocol, "--data-dir", str(folder / "data")]
    with (folder / "serve.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--listen", "localhost:0", *options], stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        yield Pasted(Path(_reported(process)).read_text())
    finally:
        process.terminate()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()


def _reported(process: subprocess.Popen[str]) -> str:
    """The path that it prints in place of passwords, since its output is no terminal."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if found := _WHERE.search(line):
            return found[1]
    raise AssertionError(f"it ended, and said: {''.join(lines)}")
