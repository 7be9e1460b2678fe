"""Python's collector of cycles, of a process that is a broker and nothing else.

A full collection looks at every object there is: a hundred thousand after the imports, more with the HTTP side, and nobody is served
for the ten to thirty milliseconds that it takes. What was there when the process was ready stays until it ends, so the
collector leaves off while that is made, and looks at none of it afterwards.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected_when_ready() -> Iterator[None]:
    """Nothing is collected from here on, until ``is_ready`` is called or this is left."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def is_ready() -> None:
    """Collect from here on, but for what is there now."""
    gc.freeze()
    gc.enable()
