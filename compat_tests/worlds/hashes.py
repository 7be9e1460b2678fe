"""``python -m compat_tests.worlds.hashes``: prints the hash of the trace of some lives of each planted bug, for ``test_pythons.py``."""

from __future__ import annotations

import json
import logging
import os
import sys
from functools import partial

os.environ["AIOKAFKA_NO_EXTENSIONS"] = "1"

from compat_tests.worlds import committing, producing, rebalancing  # noqa: F401 - they plant
from compat_tests.worlds.programs import BUGS
from pykbroker.worlds.life import live


def main() -> None:
    """Print a JSON object: the version of Python, and the hashes by name and seed."""
    logging.disable()
    hashes = {
        f"{name} {seed}": live(partial(scenario, mended=False), seed).trace_hash
        for name, (_, scenario) in BUGS.items()
        for seed in (1, 2)
    }
    print(json.dumps({"python": sys.version_info[:2], "hashes": hashes}))


if __name__ == "__main__":
    main()
