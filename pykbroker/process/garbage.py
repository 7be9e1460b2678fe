"""Python's collector of cycles, of a process that is a broker and nothing else.

A full collection looks at every object there is: a hundred thousand after the imports, more with the HTTP side, and nobody is served
for the ten to thirty milliseconds that it takes. What was there when the process was ready stays until it ends, so the
collector leaves off while that is made, and looks at none of it afterwards.

The same holds of what comes later and stays: ten thousand open logs are a million objects, and a full collection of them takes a fifth of
a second. So whenever one has left many behind, which are in use, later ones look at none of these either. Of what was set aside, cycles
that nobody refers to any more are not found; there are few, since the broker breaks its own.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

#: Objects that a full collection may leave to the next one.
MOST_OBJECTS: Final = 30_000
#: New objects after which the young are collected; a full collection comes after a hundred times as many. From Python 3.13 on it would be
#: 2,000.
_YOUNG: Final = 700


@contextmanager
def collected_when_ready() -> Iterator[None]:
    """Nothing is collected from here on, until ``is_ready`` is called or this is left."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def is_ready() -> None:
    """Collect from here on, but for what is there now, and later for what has come and stayed."""
    gc.freeze()
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
    if _set_aside not in gc.callbacks:
        gc.callbacks.append(_set_aside)
    gc.enable()


def _set_aside(phase: str, collection: dict[str, Any]) -> None:
    """After a full collection that has left many."""
    oldest = 2
    if phase == "stop" and collection["generation"] == oldest and len(gc.get_objects(oldest)) > MOST_OBJECTS:
        gc.freeze()
