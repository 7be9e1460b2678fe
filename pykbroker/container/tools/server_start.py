"""``kafka-server-start``: runs the broker with the settings of a file, in this process."""

from __future__ import annotations

import sys
from pathlib import Path

from pykbroker.container.tools.running import Options


def main(words: list[str]) -> None:
    made = Options("kafka-server-start", "Run a broker until it is told to stop.")
    made.add_argument("file", metavar="server.properties")
    made.add_argument(
        "--override", metavar="NAME=VALUE", action="append", default=[], help="a setting; wins over the file"
    )
    options = made.parse_args(words)
    from pykbroker.container.run import launch

    sys.exit(launch(Path(options.file), options.override))
