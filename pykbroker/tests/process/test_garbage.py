"""A process that serves: what its collector of cycles looks at, and when."""

from __future__ import annotations

import gc
import subprocess
import sys

from pykbroker.process import garbage

#: Says, when it is ready, how many collections there were since its command line was read, whether there will be others, and whether
#: they look at less than a tenth of what is there.
_SERVES = """
import asyncio, gc, os, signal, sys
from pykbroker.cli.serve import main
collections = []
gc.callbacks.append(lambda phase, info: collections.append(phase))
def told():
    print(len(collections), gc.isenabled(), len(gc.get_objects()) < gc.get_freeze_count() / 10, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
def tell(node):
    asyncio.get_running_loop().call_soon(told)
sys.exit(main(["--listen", "127.0.0.1:0", "--ephemeral"], tell))
"""


def test_what_was_there_at_the_start_is_looked_at_neither_then_nor_later() -> None:
    done = subprocess.run([sys.executable, "-c", _SERVES], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "0 True True"


def test_one_that_never_is_ready_collects_again() -> None:
    try:
        with garbage.collected_when_ready():
            assert not gc.isenabled()
            raise ValueError
    except ValueError:
        assert gc.isenabled()
