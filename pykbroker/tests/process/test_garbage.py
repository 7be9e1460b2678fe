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


_GROWS = """
import gc
from pykbroker.process import garbage
with garbage.collected_when_ready():
    garbage.is_ready()
kept, most = [], 0
def seen(phase, collection):
    global most
    if phase == "start" and collection["generation"] == 2:
        most = max(most, sum(len(gc.get_objects(each)) for each in range(3)))
gc.callbacks.append(seen)
before = gc.get_freeze_count()
while len(kept) < 20 * garbage.MOST_OBJECTS:
    kept.append([])
print(most < 5 * garbage.MOST_OBJECTS, gc.get_freeze_count() > before + 10 * garbage.MOST_OBJECTS)
gc.collect()
gc.collect()
del kept
gc.collect()
print(gc.get_freeze_count() < before + 5 * garbage.MOST_OBJECTS)
"""


def test_what_comes_later_and_stays_is_not_looked_at_again_and_again() -> None:
    """A full collection looks at a bounded number, however many there are; what is dropped goes as ever."""
    done = subprocess.run([sys.executable, "-c", _GROWS], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "True", "True"]


def test_one_that_never_is_ready_collects_again() -> None:
    try:
        with garbage.collected_when_ready():
            assert not gc.isenabled()
            raise ValueError
    except ValueError:
        assert gc.isenabled()
