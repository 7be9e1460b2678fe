"""A command of ``pykbroker`` in a container: ``serve`` with the defaults of one, the others on the log directory of its broker."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pykbroker.cli.serve_options import AS_REACHED, parser
from pykbroker.container import data_directory, health, writable_files
from pykbroker.container.announced import tell_ready

#: Default of ``serve``: clients come from outside the container, where its loopback address is another one's.
_LISTEN = "0.0.0.0:9092"


def main(words: Sequence[str], environment: Mapping[str, str] = os.environ, ready: Path = health.READY) -> int:
    """Run the command; returns the exit status."""
    os.environ[data_directory.VARIABLE] = _log_directory(environment, ready)
    if words[:1] == ["serve"]:
        from pykbroker.cli.serve import main as serve

        writable_files.remove(ready)
        return serve([*words[1:], *defaults(words[1:])], tell=tell_ready)
    sys.argv = ["pykbroker", *words]
    runpy.run_module(
        "pykbroker", run_name="__main__", alter_sys=True
    )  # as `python -m pykbroker`; its status is a SystemExit
    return 0


def _log_directory(environment: Mapping[str, str], ready: Path) -> str:
    """The directory of the broker that runs, else that of the next one."""
    running = health.summary(ready)
    if running is not None and not environment.get(data_directory.VARIABLE):
        return str(running["data_dir"])
    return data_directory.default(environment, data_directory.mounts())


def defaults(words: Sequence[str]) -> list[str]:
    """Return the options of ``serve`` that these leave out and a container needs."""
    options = parser().parse_args(words)
    if options.config is not None or any(each.partition("=")[0].strip() == "listeners" for each in options.set):
        return []
    made = [] if options.listen else ["--listen", _LISTEN]
    named = options.advertise or any(each.startswith("advertised.listeners") for each in options.set)
    if not named and options.security is None:  # certificates are for names
        made += ["--advertise", AS_REACHED]
    return made
