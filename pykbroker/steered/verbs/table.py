"""All verbs by name. HTTP's routes of the same names (``http/api/table.py``) and the control socket carry out these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pykbroker.steered.verbs import brokers, chaos, clock, faults, snapshots

if TYPE_CHECKING:
    from pykbroker.steered.call import VerbCall
    from pykbroker.steered.steering import Steering

    Act = Callable[[Steering, VerbCall], Awaitable[dict[str, Any]]]

VERBS: Final[Mapping[str, Act]] = {
    "listFaults": faults.listed,
    "addFault": faults.add,
    "clearFaults": faults.clear,
    "getFault": faults.one,
    "removeFault": faults.remove,
    "getChaos": chaos.now,
    "beginChaos": chaos.begin,
    "endChaos": chaos.end,
    "listBrokers": brokers.listed,
    "stopBroker": brokers.stop,
    "killBroker": brokers.kill,
    "startBroker": brokers.start,
    "getClock": clock.now,
    "advanceClock": clock.advance,
    "reset": snapshots.reset,
    "listSnapshots": snapshots.listed,
    "keepSnapshot": snapshots.keep,
    "restoreSnapshot": snapshots.restore,
}
