"""The lines of Kafka's verifiable clients: JSON, each with its time and its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.record_json import text
from pykbroker.runtime.clock import SystemClock

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock


class Events:
    """Prints them at once, for whoever reads along."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()

    def tell(self, event: str, **fields: Any) -> None:
        print_lines(text({"timestamp": self._clock.now_ms(), "name": event, **fields}), flush=True)
