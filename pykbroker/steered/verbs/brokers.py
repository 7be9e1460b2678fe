"""Stops, kills and starts single brokers of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.brokers.broker import WrongBroker
from pykbroker.steered.call import Call
from pykbroker.steered.refusal import refusing

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering


async def listed(steering: Steering, call: Call) -> dict[str, Any]:
    """The brokers of the process, running or not. Raises Refusal."""
    steering.cluster()
    return {"brokers": steering.node.brokers.describe(steering.node.addresses())}


async def stop(steering: Steering, call: Call) -> dict[str, Any]:
    """Stop the broker ``id`` in an orderly way. Raises Refusal, and KafkaError."""
    with refusing(409, WrongBroker):
        await steering.node.brokers.stop(call.number("id"))
    return await listed(steering, call)


async def kill(steering: Steering, call: Call) -> dict[str, Any]:
    """Stop the broker ``id`` as a crash does. Raises Refusal, and KafkaError."""
    with refusing(409, WrongBroker):
        await steering.node.brokers.stop(call.number("id"), abrupt=True)
    return await listed(steering, call)


async def start(steering: Steering, call: Call) -> dict[str, Any]:
    """Start the broker ``id`` on its ports. Raises Refusal, and KafkaError."""
    with refusing(409, WrongBroker, OSError):
        await steering.node.brokers.start(call.number("id"))
    return await listed(steering, call)
