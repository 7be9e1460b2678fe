"""Fault injection: rules for requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.faults.book import Rule, UnknownRule
from pykbroker.faults.fault import BadFault, Fault
from pykbroker.steered.call import VerbCall
from pykbroker.steered.refusal import VerbRefused, refusing

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering


async def listed(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """All rules, with how often each fired."""
    return {"faults": [_as_json(rule) for rule in steering.node.faults.book.rules.values()]}


async def add(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """Add the rule that ``text`` describes, or the body's words. Raises VerbRefused."""
    steering.cluster()
    with refusing(400, BadFault):
        if "text" in call.body:
            if len(call.body) > 1:
                raise VerbRefused(400, "a fault is said in 'text' or in words of their own, not in both")
            fault = Fault.parse(call.text("text"))
        else:
            fault = Fault.from_json(call.body)
        return _as_json(steering.node.faults.add(fault))


async def one(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """The rule ``number``. Raises VerbRefused."""
    number = call.number("number")
    rule = steering.node.faults.book.rules.get(number)
    if rule is None:
        raise VerbRefused(404, f"there is no rule {number}")
    return _as_json(rule)


async def remove(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """Remove the rule ``number``; requests that it held continue. Raises VerbRefused."""
    with refusing(404, UnknownRule):
        return _as_json(steering.node.faults.remove(call.number("number")))


async def clear(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """Remove all rules, and show them."""
    return {"faults": [_as_json(rule) for rule in steering.node.faults.clear()]}


def _as_json(rule: Rule) -> dict[str, Any]:
    return {**rule.as_json(), "text": str(rule.fault)}
