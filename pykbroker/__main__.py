"""``python -m pykbroker COMMAND``. `serve` is on a path of its own, so that starting a broker imports nothing else."""

from __future__ import annotations

import gc
import sys

#: What --help says where the packages of the other commands are missing, which list them themselves.
_HELP = """Usage: pykbroker COMMAND [OPTIONS]

A Kafka-compatible broker.

  serve  Run the broker; `pykbroker serve --help` lists its options.
  check  Check whether a broker would start with these settings, without starting it.
"""


def main() -> None:
    """Run the command named first on the command line; exits with its status."""
    if sys.platform == "win32":  # before anything is imported that Windows lacks
        sys.exit("pykbroker runs on Linux and macOS. On Windows, run it in WSL 2 or in a container.")
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        gc.disable()  # until the broker is ready: what is imported stays, and looking for garbage in it is a twentieth of a start
        from pykbroker.cli.serve import main as serve

        sys.exit(serve(arguments[1:]))
    if arguments[:1] == ["check"]:
        from pykbroker.cli.check import main as check

        sys.exit(check(arguments[1:]))
    if arguments[:1] in (["--version"], ["-V"]):
        from pykbroker import __version__

        sys.stdout.write(f"pykbroker {__version__}\n")
        return
    try:
        from pykbroker.cli.app import main as app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        from pykbroker.extras import install_hint

        others = f"The commands besides `serve` and `check` need the package {error.name}: {install_hint('cli')}."
        if arguments[:1] not in ([], ["--help"], ["-h"]):
            sys.exit(others)
        sys.stdout.write(f"{_HELP}\n{others}\n")
        return
    sys.exit(app(arguments))


if __name__ == "__main__":
    main()
