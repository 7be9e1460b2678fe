"""What customers do in event time, and what must be known of it in the end: the input and the exact results of JoiningApp.

Results are computed here from the definitions of the joins and windows, not by following how Kafka Streams works.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

PARTITIONS = 2
CUSTOMERS = 6
#: A full minute of this day: changelogs of windows keep two days (compact,delete), and are given to the cleaner at any time.
START_MS = (int(time.time()) // 60 - 12 * 60) * 60_000
JOIN_MS, MINUTE_MS, GRACE_MS = 10_000, 60_000, 5_000

Results = Counter[tuple[str, str]]


@dataclass(frozen=True)
class Event:
    """One record: of a customer, at a time of event time, milliseconds since 1970."""

    customer: int
    at_ms: int
    value: str

    @property
    def key(self) -> str:
        return f"customer {self.customer}"

    @property
    def partition(self) -> int:
        return self.customer % PARTITIONS


def cities(seconds: range) -> Iterator[Event]:
    """Customers move every ninety seconds; the first city is known before the first order."""
    for second in seconds:
        if second % 90 == 0:
            for customer in range(CUSTOMERS):
                yield Event(customer, START_MS + second * 1000 + customer, f"city {second // 90}")


def orders(seconds: range) -> Iterator[Event]:
    """An order every second, the customers in turn."""
    for second in seconds:
        yield Event(second % CUSTOMERS, START_MS + second * 1000 + 500, f"order {second}")


def payments(seconds: range) -> Iterator[Event]:
    """Three seconds after an order, but in every other minute, and never by the last customer."""
    for second in seconds:
        customer = (second - 3) % CUSTOMERS
        if second % 120 >= 60 and customer != CUSTOMERS - 1:
            yield Event(customer, START_MS + second * 1000 + 700, f"payment {second}")


def visits(seconds: range) -> Iterator[Event]:
    """One every second; some are told three seconds late, which is within the grace, and some two minutes late."""
    for second in seconds:
        customer = second % CUSTOMERS
        late = 120_000 if second % 100 > 95 else 3_000 if second % 10 > 7 else 0
        yield Event(customer, START_MS + second * 1000 - late, f"visit {second}")


def ends(second: int) -> Iterator[Event]:
    """One event in each partition, so late that all before is over."""
    for partition in range(PARTITIONS):
        yield Event(partition, START_MS + (second + 10_000) * 1000, "the end")


def located(ordered: list[Event], moved: list[Event]) -> Results:
    """Every order with the city its customer lived in then."""
    found: Results = Counter()
    for order in ordered:
        known = [move for move in moved if move.customer == order.customer and move.at_ms <= order.at_ms]
        found[order.key, f"{order.value} {known[-1].value}"] += 1
    return found


def paid(ordered: list[Event], payed: list[Event]) -> Results:
    """Every order with each payment of the customer near it, or with none."""
    found: Results = Counter()
    for order in ordered:
        near = [p for p in payed if p.customer == order.customer and abs(p.at_ms - order.at_ms) <= JOIN_MS]
        for value in [payment.value for payment in near] or ["null"]:
            found[order.key, f"{order.value} {value}"] += 1
    return found


def minutes(visited: list[Event]) -> Results:
    """Visits by customer and minute, without those that came when their minute and the grace were over."""
    now_ms = [0] * PARTITIONS
    counts: Counter[tuple[str, int]] = Counter()
    for visit in visited:
        now_ms[visit.partition] = max(now_ms[visit.partition], visit.at_ms)
        minute = visit.at_ms - visit.at_ms % MINUTE_MS
        if minute + MINUTE_MS + GRACE_MS > now_ms[visit.partition]:
            counts[visit.key, minute] += 1
    over = {key: count for key, count in counts.items() if key[1] + MINUTE_MS + GRACE_MS <= min(now_ms)}
    return Counter((f"{customer}@{minute}", str(count)) for (customer, minute), count in over.items())
