"""Stops, kills and starts single brokers of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.brokers.broker import WrongBroker
from pykbroker.steered.call import VerbCall
from pykbroker.steered.refusal import refusing

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering


async def listed(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """The brokers of the process, running or not. Raises VerbRefused."""
    steering.cluster()
    return {"brokers": steering.node.brokers.describe(steering.node.addresses())}


async def stop(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """Stop the broker ``id`` in an orderly way. Raises VerbRefused, and KafkaError."""
    with refusing(409, WrongBroker):
        await steering.node.brokers.stop(call.number("id"))
    return await listed(steering, call)


async def kill(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """Stop the broker ``id`` as a crash does. Raises VerbRefused, and KafkaError."""
    with refusing(409, WrongBroker):
        await steering.node.brokers.stop(call.number("id"), abrupt=True)
    return await listed(steering, call)


async def start(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """Start the broker ``id`` on its ports. Raises VerbRefused, and KafkaError."""
    with refusing(409, WrongBroker, OSError):
        await steering.node.brokers.start(call.number("id"))
    return await listed(steering, call)
