"""The catalogue of legal chaos: what may befall a client of Apache Kafka at any moment, and why. docs/faults.md has it as a table.

Everything in it is either a matter of time and connections, which no client can tell from a slow or dying broker, or done by real
means: a leader that moves, moves. So no answer is made up, and nothing is answered that the state does not bear out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

from pykbroker.faults.fault import Fault
from pykbroker.refusals.shapes import carries_throttle
from pykbroker.wire.apis import ApiKey, response_class

EVERYTHING: Final = "everything"
#: What people do, in no profile but its own, since records are gone afterwards however correct a program is.
OPERATORS: Final = "operators"
#: What befalls the cluster comes in three streams, each by its own draws: what happens to brokers and leaders, to what they keep, and to
#: their clock.
BROKERS: Final = "cluster"
STATE: Final = "state"
CLOCK: Final = "clock"
STREAMS: Final = (BROKERS, STATE, CLOCK)
#: An answer of which all is sent before the connection is closed.
_WHOLE: Final = 2**31 - 1


class Disturbance(NamedTuple):
    """One kind of the catalogue."""

    name: str
    #: Which of PROFILES it is in, beside everything.
    profiles: tuple[str, ...]
    #: Of all requests that it may befall; for what befalls the cluster, of all moments that are drawn.
    share: float
    #: Why Apache Kafka may do it.
    source: str
    #: What a correct client does.
    client: str
    #: By what means the same answers were seen from Apache Kafka 4.4.0 (compat_tests/testing_faults/test_catalogue.py).
    seen: str
    #: The fault for a request, from a source of random numbers; None for what befalls the cluster.
    fault: Callable[[Random], Fault] | None = None
    #: The APIs, if not all.
    apis: frozenset[int] = frozenset()
    #: Of what befalls the cluster, the stream in which it comes.
    stream: str = BROKERS

    def is_in(self, profile: str) -> bool:
        """Whether it is in a profile."""
        return profile in self.profiles or (profile == EVERYTHING and OPERATORS not in self.profiles)

    def befalls(self, api_key: int, version: int) -> bool:
        """Whether it may befall a request."""
        if self.fault is None or (self.apis and api_key not in self.apis):
            return False
        if self.name != THROTTLED:
            return True
        # What Apache Kafka keeps back of a ShareFetch stays acquired until the lock is over; here it is available at once.
        return api_key != ApiKey.SHARE_FETCH and carries_throttle(response_class(api_key), version)

    def allows(self, fault: Fault) -> bool:
        """Whether a fault, of a tape, is one of this kind: the same effect, and no longer than this kind lasts."""
        if self.fault is None:
            return False
        drawn = self.fault(Random(0))
        lasts = max(fault.delay or 0, fault.throttle or 0)
        return fault.as_json().keys() == drawn.as_json().keys() and fault.api == drawn.api and lasts <= LONGEST_MS


def _ms(rng: Random, least: int = 2, most: int = 1000) -> int:
    """Milliseconds: each order of magnitude as likely as another."""
    return round(least * math.pow(most / least, rng.random()))


THROTTLED: Final = "throttled"
#: The longest that a request waits.
LONGEST_MS: Final = 20_000

CATALOGUE: Final = (
    Disturbance(
        "slow request",
        ("overload", "slow-network"),
        0.04,
        "requests wait for a request handler (queued.max.requests, RequestQueueTimeMs)",
        "waits up to request.timeout.ms",
        "SIGSTOP to the broker, and SIGCONT",
        lambda rng: Fault(delay=_ms(rng)),
    ),
    Disturbance(
        "slow answer",
        ("overload", "slow-network"),
        0.04,
        "answers wait for the network thread (ResponseQueueTimeMs, ResponseSendTimeMs)",
        "waits up to request.timeout.ms; what it asked has been done",
        "a network that holds the answer",
        lambda rng: Fault(delay=_ms(rng), after=True),
    ),
    Disturbance(
        "held up",
        ("network", "slow-network"),
        0.001,
        "packets are lost, and TCP sends them again after seconds: the frame comes, late, and those behind it on the connection, too",
        "times out and connects again (request.timeout.ms); a member may have lost its partitions, a transaction its time, and what was "
        "asked may still be done",
        "SIGSTOP until the client has gone: the record comes all the same",
        lambda rng: Fault(delay=_ms(rng, 1000, LONGEST_MS)),
    ),
    Disturbance(
        THROTTLED,
        ("overload",),
        0.02,
        "KIP-13, KIP-124: quotas on bytes and request time may be set at any moment; the answer comes at once, that of a Fetch "
        "empty, then the connection is muted (KIP-219)",
        "sends nothing for throttle_time_ms, and asks again for what it did not get",
        "a quota on the client, by AlterClientQuotas",
        lambda rng: Fault(throttle=_ms(rng)),
    ),
    Disturbance(
        "short fetch",
        ("overload",),
        0.05,
        "an answer has records of one segment at most, and of a partition at least one batch, whatever was asked for (KIP-74)",
        "goes on from the last offset that it got",
        "small segments",
        lambda _: Fault("Fetch", short=True),
        frozenset({ApiKey.FETCH}),
    ),
    Disturbance(
        "connection lost with the request",
        ("network",),
        0.01,
        "connections end at any moment: a killed broker, the network",
        "connects again and repeats the request",
        "SIGKILL to a broker with the request before it",
        lambda _: Fault(close=True),
    ),
    Disturbance(
        "connection lost with the answer",
        ("network",),
        0.01,
        "a broker may die between the append and the answer",
        "connects again and repeats the request, which may have been carried out: idempotence tells the producer's apart",
        "a network that ends with the answer on it",
        lambda _: Fault(close=True, after=True),
    ),
    Disturbance(
        "connection closed behind the answer",
        ("network",),
        0.01,
        "idle connections are closed (connections.max.idle.ms), and those whose session of SASL has expired",
        "connects again, and reports no failure: nothing was under way",
        "connections.max.idle.ms",
        lambda _: Fault(truncate=_WHOLE),
    ),
    Disturbance(
        "old metadata",
        ("elections",),
        0.02,
        "each broker applies the metadata log at its own pace (KIP-500): it answers from an older image than others have",
        "takes no leader of an older epoch (KIP-320), and asks again after a refusal",
        "a topic made while the broker is stopped by SIGSTOP",
        lambda rng: Fault("Metadata", stale=True, delay=_ms(rng)),
        frozenset({ApiKey.METADATA}),
    ),
    Disturbance(
        "leader moved",
        ("elections",),
        0.5,
        "ElectLeaders, preferred leader elections, reassignments: carried out by the controller",
        "asks for metadata after NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH, and repeats the request",
        "a reassignment and ElectLeaders",
    ),
    Disturbance(
        "coordinator moved",
        ("elections",),
        0.25,
        "the same for partitions of __consumer_offsets and __transaction_state",
        "asks for its coordinator after NOT_COORDINATOR, and waits while it loads (COORDINATOR_LOAD_IN_PROGRESS)",
        "the same of __consumer_offsets",
    ),
    Disturbance(
        "broker restarted",
        ("rolling-restart",),
        0.15,
        "a rolling restart: a controlled shutdown (KIP-631), and a start some seconds later",
        "goes on with the other brokers",
        "SIGTERM, and a start",
    ),
    Disturbance(
        "broker lost",
        ("broker-down",),
        0.1,
        "a machine fails: its connections are cut, the controller fences it; it is back some seconds later",
        "goes on with the other brokers",
        "SIGKILL, and a start",
    ),
    Disturbance(
        "brokers cut off",
        ("elections",),
        0.2,
        "the network between brokers fails for seconds: a leader waits for replicas that do not fetch, and takes them out of the ISR after "
        "replica.lag.time.max.ms (KIP-497)",
        "waits up to request.timeout.ms, and repeats the request; idempotence tells the producer's apart",
        "SIGSTOP to the follower, and SIGCONT",
        stream=STATE,
    ),
    Disturbance(
        "session expired",
        ("sessions",),
        0.2,
        "the network to a member is silent for session.timeout.ms, or for group.consumer.session.timeout.ms (KIP-848): the coordinator "
        "removes it, and its partitions go to others; what it had sent comes afterwards",
        "gives up its partitions without a commit, and joins anew (UNKNOWN_MEMBER_ID)",
        "a member that does not send",
        stream=STATE,
    ),
    Disturbance(
        "transaction timed out",
        ("sessions",),
        0.2,
        "the network to a producer is silent for transaction.timeout.ms: the coordinator aborts its transaction and bumps its epoch "
        "(KIP-588, KIP-890)",
        "begins the transaction anew with the next epoch (INVALID_PRODUCER_EPOCH), or ends (PRODUCER_FENCED)",
        "a producer that does not send",
        stream=STATE,
    ),
    Disturbance(
        "records expired",
        ("retention",),
        0.2,
        "a round of retention (log.retention.check.interval.ms): what retention.ms and retention.bytes of a topic have let go is deleted, "
        "under the reader, too",
        "goes on by auto.offset.reset (OFFSET_OUT_OF_RANGE)",
        "retention.ms=1",
        stream=STATE,
    ),
    Disturbance(
        "offsets expired",
        ("retention",),
        0.2,
        "a round of offsets.retention.check.interval.ms (KIP-211): offsets of an empty group that are older than "
        "offsets.retention.minutes are deleted",
        "begins by auto.offset.reset",
        "offsets that are committed with a retention of a millisecond (OffsetCommit version 4)",
        stream=STATE,
    ),
    Disturbance(
        "topic made again",
        (OPERATORS,),
        0.2,
        "an operator deletes a topic and makes it again: the same name has another id, and no records (KIP-516)",
        "asks for metadata (UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID), and begins anew; what was in the topic is gone",
        "DeleteTopics and CreateTopics",
        stream=STATE,
    ),
    Disturbance(
        "unclean election",
        (OPERATORS,),
        0.2,
        "unclean.leader.election.enable of the topic, no default: the leader is cut off from its followers, goes on alone when they have left "
        "the ISR, and is lost; one of them leads by the next epoch, without what was written meanwhile, and the old leader truncates its log "
        "(PartitionChangeBuilder, KIP-101, KIP-966)",
        "asks for the end of its epoch (OffsetForLeaderEpoch, KIP-320), and goes on from where the log parts, or by auto.offset.reset; what "
        "was answered by the old leader alone is gone",
        "SIGKILL to the follower, and to the leader, and a start of the follower",
        stream=STATE,
    ),
    Disturbance(
        "clock step",
        ("clocks",),
        0.2,
        "a time server corrects the wall clock, forwards or back, by more than 128 ms (ntpd), by draw at most 10 s, since what begins "
        "meanwhile, as a transaction, ends so much later: timestamps by LogAppendTime, transaction.timeout.ms, retention.ms and "
        "offsets.retention.minutes are counted on it (Time.milliseconds); sessions and requests are not (Time.hiResClockMs)",
        "takes timestamps for no order; begins the transaction anew where it was aborted early (INVALID_PRODUCER_EPOCH, PRODUCER_FENCED)",
        "its class of the clock (SystemTime), which a file sets ahead",
        stream=CLOCK,
    ),
)
PROFILES: Final = (EVERYTHING, *dict.fromkeys(name for each in CATALOGUE for name in each.profiles))


def table() -> str:
    """The catalogue as docs/faults.md has it."""
    columns = (
        "outcome",
        "profiles",
        "why Apache Kafka may do it",
        "what a correct client does",
        "seen from Apache Kafka 4.4.0 by",
    )
    told = ((each.name, ", ".join(each.profiles), each.source, each.client, each.seen) for each in CATALOGUE)
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, ("---",) * len(columns), *told))


if __name__ == "__main__":
    print(table())  # noqa: T201 - for the page
