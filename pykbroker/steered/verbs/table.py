"""All verbs by name. HTTP's routes of the same names (``http/api/table.py``) and the control socket carry out these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pykbroker.steered.verbs import brokers, clock, faults, lives

if TYPE_CHECKING:
    from pykbroker.steered.call import Call
    from pykbroker.steered.steering import Steering

    Act = Callable[[Steering, Call], Awaitable[dict[str, Any]]]

VERBS: Final[Mapping[str, Act]] = {
    "listFaults": faults.listed,
    "addFault": faults.add,
    "clearFaults": faults.clear,
    "getFault": faults.one,
    "removeFault": faults.remove,
    "listBrokers": brokers.listed,
    "stopBroker": brokers.stop,
    "killBroker": brokers.kill,
    "startBroker": brokers.start,
    "getClock": clock.now,
    "advanceClock": clock.advance,
    "reset": lives.reset,
    "listSnapshots": lives.listed,
    "keepSnapshot": lives.keep,
    "restoreSnapshot": lives.restore,
}
