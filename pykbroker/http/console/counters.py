"""Counters since the start, of which the page shows differences as throughput and latency."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from pykbroker.http.metrics.meter import TopicCounts
from pykbroker.http.metrics.times import upper_us
from pykbroker.wire.apis import ApiKey

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console
    from pykbroker.http.metrics.meter import RequestCounts

#: Topics that are added up before others are served.
_AT_ONCE: Final = 50


async def now(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return counters of all topics together, and a histogram of latencies by API.

    A histogram is pairs of an upper bound in microseconds and a count. The latency of a waiting Fetch is that of its
    handler only.
    """
    meter = console.meter
    topics, turn = TopicCounts(), console.turn()
    for number, each in enumerate(meter.each_topic()):
        topics.add(each)
        if not number % _AT_ONCE:
            await turn.share()
    apis: dict[int, Counter[int]] = {}
    errors: Counter[int] = Counter()
    for (key, _), counts in list(meter.requests.items()):
        _add(apis.setdefault(key, Counter()), counts, waits=key == ApiKey.FETCH)
        errors[key] += sum(count for code, count in counts.errors.items() if code)
    return {
        "at": console.clock.monotonic(),
        "bytes_in": topics.bytes_in,
        "bytes_out": topics.bytes_out,
        "records_in": topics.messages_in,
        "apis": {
            ApiKey(key).name: {"errors": errors[key], "took": [[upper_us(part), n] for part, n in sorted(of.items())]}
            for key, of in apis.items()
        },
    }


def _add(of: Counter[int], counts: RequestCounts, *, waits: bool) -> None:
    for times in (counts.at_once, counts.local if waits else counts.total):
        for part, count in enumerate(times.counts):
            if count:
                of[part] += count
