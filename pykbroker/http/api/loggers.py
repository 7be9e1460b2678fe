"""The levels of loggers, which BROKER_LOGGER resources alter, too (KIP-412)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.config.loggers import levels
from pykbroker.controller.config_alterations import Change, Operation
from pykbroker.http.api.route import HttpCall
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering


async def listed(steering: Steering, call: HttpCall) -> dict[str, Any]:
    return {"loggers": levels()}


async def alter(steering: Steering, call: HttpCall) -> dict[str, Any]:
    name = call.path["name"]
    if name not in levels():
        raise VerbRefused(404, f"there is no logger {name[:100]!r}; GET /api/v1/loggers lists those that there are")
    level = None if call.body.get("level", "") is None else call.text("level")
    change = Change(name, Operation.DELETE if level is None else Operation.SET, level)
    try:
        steering.cluster().log_levels.alter([change])
    except KafkaError as error:
        raise VerbRefused(400, error.message) from error
    authorizer = steering.cluster().authorizer
    if authorizer is not None:
        authorizer.forget()  # the audit of allowed requests may be logged from now on
    return await listed(steering, call)
