"""A broker that keeps in a file of two numbers how many functions in Python, and built-in ones, its loop's thread has called.

Run by its path, with the file and what would follow ``python -m pykbroker``: the checkout under PYTHONPATH may be one that lacks it.
"""

from __future__ import annotations

import mmap
import sys
from pathlib import Path
from types import FrameType
from typing import Final

#: Of the file.
SIZE: Final = 16


def main() -> None:
    """Run pykbroker; whoever has the file open sees the numbers grow."""
    with Path(sys.argv[1]).open("r+b") as file:
        numbers = memoryview(mmap.mmap(file.fileno(), SIZE)).cast("Q")

    def seen(_: FrameType, event: str, __: object) -> None:
        if event == "call":
            numbers[0] += 1
        elif event == "c_call":
            numbers[1] += 1

    sys.argv[:2] = ["pykbroker"]
    from pykbroker.__main__ import main as pykbroker  # of the checkout that is measured

    sys.setprofile(seen)
    pykbroker()


if __name__ == "__main__":
    main()
