"""``python -m pykbroker.tests.simulation SEED``: tell one seed's story, line by line."""

from __future__ import annotations

import sys

from pykbroker.tests.simulation.story import Story


def main() -> None:
    story = Story(int(sys.argv[1]))
    sys.stdout.write(f"{story.cast}\n")
    try:
        story.tell()
    finally:
        for now_ms, what in story.world.trace:
            sys.stdout.write(f"{now_ms:>8} {what}\n")


main()
