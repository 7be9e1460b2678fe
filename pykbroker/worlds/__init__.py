"""The user's asyncio programs, real brokers and time out of one seed, replayed exactly (docs/worlds.md).

    @kafka_world(seeds=200)
    async def test_each_order_is_charged_once(world): ...

Open in this order: ``world`` (what a test is given), ``hosts`` and ``brokers`` (what lives on hosts), ``settling`` (when it rests); then
``simulator`` (virtual time and the turns of hosts), ``loop`` (asyncio's interface on it), ``network`` and ``transport`` (TCP), ``disk`` (one
that fails and forgets). ``tape`` is what a seed decides, ``life`` lives once, with the process's time and chance (``surroundings``), and
refuses what cannot be repeated (``refusals``). ``exploring`` looks for a failure and shrinks it, ``judge`` (pure) compares what was read and
written, ``recording`` and ``report`` tell it.

The loop is our own: simloop and simloom (PyPI) need Python 3.12, and have one loop for all hosts. Here each host has its own, as
processes have, so that a program sees its own tasks only and a crash ends a loop.
"""

from pykbroker.judge import Misjudged
from pykbroker.worlds.brokers import WorldKafka
from pykbroker.worlds.decorator import kafka_world
from pykbroker.worlds.exploring import Failure, explore, replay
from pykbroker.worlds.hosts import AnyTime, HostFailed, WorldHost
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
