"""The user's asyncio programs, real brokers and time out of one seed, replayed exactly (docs/worlds.md).

    @kafka_world(seeds=200)
    async def test_each_order_is_charged_once(world): ...

Open in this order: ``world``, ``hosts``, ``brokers``, then ``simulator``, ``loop``, ``network``, ``transport``; ``tape`` is what a
seed decides, ``life`` lives once, ``exploring`` looks for a failure and shrinks it, ``report`` tells it.
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
