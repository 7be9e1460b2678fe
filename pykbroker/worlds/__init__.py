"""The user's asyncio programs, real brokers and time out of one seed, replayed exactly (docs/worlds.md).

    @kafka_world(seeds=200)
    async def test_each_order_is_charged_once(world): ...

Open in this order: ``world``, ``hosts``, ``brokers``, then ``simulator``, ``loop``, ``network``, ``transport``; ``tape`` is what a
seed decides, ``life`` lives once, ``exploring`` looks for a failure and shrinks it, ``report`` tells it.

Public: the user's asyncio programs, the real process of brokers and time out of one seed. ``simulator.py`` is virtual time
and the turns of hosts, ``loop.py`` asyncio's interface on it, ``network.py`` and ``transport.py`` TCP, ``disk.py`` a disk
that fails and forgets; ``hosts.py`` and ``brokers.py`` are what lives on hosts, ``world.py`` is what a test is given,
``settling.py`` says when it rests. ``tape.py`` is what a seed decides, ``life.py`` lives once, with the process's time and
chance (``surroundings.py``), and refuses what cannot be repeated (``refusals.py``). ``exploring.py`` looks for a failure and
shrinks it, ``recording.py`` and ``report.py`` tell it.

The loop is our own: simloop and simloom (PyPI) need Python 3.12, and have one loop for all hosts. Here each host has its own, as
processes have, so that a program sees its own tasks only and a crash ends a loop.
"""

from pykbroker.worlds.brokers import WorldKafka
from pykbroker.worlds.decorator import kafka_world
from pykbroker.worlds.exploring import Failure, explore, replay
from pykbroker.worlds.hosts import AnyTime, HostFailed, WorldHost
from pykbroker.worlds.judge import Misjudged
from pykbroker.worlds.refusals import NotInAWorld
from pykbroker.worlds.tape import BadTape
from pykbroker.worlds.world import World

__all__ = [
    "AnyTime",
    "BadTape",
    "Failure",
    "HostFailed",
    "Misjudged",
    "NotInAWorld",
    "World",
    "WorldHost",
    "WorldKafka",
    "explore",
    "kafka_world",
    "replay",
]
