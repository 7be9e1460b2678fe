"""The entry point of the image's scripts.

``python -m pykbroker.container run | configure FILE | launch FILE | health | command ... | tool NAME ...``
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path


def main(words: list[str]) -> int:
    """Return the exit status."""
    match words:
        case ["run", *variables]:
            gc.disable()  # off until the broker is ready, as for `serve`
            from pykbroker.container.run import run

            return run(variables)
        case ["configure", path]:
            from pykbroker.container.run import configure

            return configure(Path(path))
        case ["launch", path]:
            gc.disable()
            from pykbroker.container.run import launch

            return launch(Path(path))
        case ["health"]:
            from pykbroker.container.health import main as health

            return health()
        case ["command", *words]:
            if words[:1] == ["serve"]:
                gc.disable()
            from pykbroker.container.command import main as command

            return command(words)
        case ["tool", name, *arguments]:
            from pykbroker.container.tools.table import main as tool

            return tool(name, arguments)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
