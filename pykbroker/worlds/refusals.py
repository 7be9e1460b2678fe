"""What a world does not simulate is refused in a sentence, never let through."""

from __future__ import annotations

import sys
from typing import Any, Final, NoReturn

#: Packages with a compiled module that reads the machine's clock, which nothing can answer, and what to do.
_COMPILED: Final = {
    "aiokafka": (
        "aiokafka.record._crecords",
        (
            "its compiled records read the machine's clock. Set AIOKAFKA_NO_EXTENSIONS=1 before aiokafka is imported (in conftest.py, "
            "or in the environment)"
        ),
    ),
}


class NotInAWorld(RuntimeError):
    """A call that a world cannot repeat; the text names it and says what to do."""


def refuse(call: str, why: str) -> NoReturn:
    """Raise NotInAWorld."""
    raise NotInAWorld(f"{call} cannot be used in a world: {why}")


def check_client(protocol: Any) -> None:
    """Raise NotInAWorld for a connection of a client that reads the machine's clock in a compiled module."""
    package = type(protocol).__module__.partition(".")[0]
    module, why = _COMPILED.get(package, ("", ""))
    if module in sys.modules:
        refuse(package, why)
