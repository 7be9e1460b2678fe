"""Members of either protocol go on when the broker is restarted: same members, same partitions, nothing read twice."""

from __future__ import annotations

from contextlib import closing

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.confluent.conftest import send
from compat_tests.groups.conftest import QUICK
from compat_tests.harness.awaiting import eventually

OLD = {"group.protocol": "classic", "heartbeat.interval.ms": 100}
NEW = {"group.protocol": "consumer"}


def poll_until(members, done, seen):
    """Polls all in turn until ``done()``, and adds what came to ``seen``. Nothing is committed: who joins anew reads anew."""

    def state() -> tuple[bool, int]:
        for member in members:
            message = member.poll(0.05)
            if message is not None and message.error() is None:
                seen.append(message.value())
        return done(), len(seen)

    eventually(state, lambda found: found[0], pause_s=0)


@pytest.mark.parametrize("kinds", [(OLD, OLD), (NEW, NEW), (OLD, NEW)], ids=["classic", "consumer", "mixed"])
def test_members_survive_a_restart_of_the_broker(start_target, kinds):
    broker = start_target(QUICK)
    base = {"bootstrap.servers": broker.bootstrap}
    admin = AdminClient(base)
    admin.create_topics([NewTopic("t", 4, 1)])["t"].result(60)
    settings = base | {"group.id": "g", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    strategy = {"partition.assignment.strategy": "cooperative-sticky"}
    one, two = (Consumer(settings | strategy | kind if kind is OLD else settings | kind) for kind in kinds)
    with closing(one), closing(two):
        seen: list[bytes] = []
        one.subscribe(["t"])
        poll_until([one], lambda: len(one.assignment()) == 4, seen)
        two.subscribe(["t"])
        poll_until([one, two], lambda: [len(each.assignment()) for each in (one, two)] == [2, 2], seen)
        send(Producer(base), "t", [b"before %d" % n for n in range(40)])
        poll_until([one, two], lambda: len(seen) == 40, seen)
        before = [each.assignment() for each in (one, two)]
        broker.restart()
        send(Producer(base), "t", [b"after %d" % n for n in range(40)])
        poll_until([one, two], lambda: len(seen) >= 80, seen)
        assert [each.assignment() for each in (one, two)] == before
        assert len(set(seen)) == len(seen) == 80
        found = admin.describe_consumer_groups(["g"])["g"].result(60)
        assert (found.state, len(found.members)) == (ConsumerGroupState.STABLE, 2)
        two.close()
        # The other hears of that before its own end, which hangs where a rebalance was not polled.
        poll_until([one], lambda: len(one.assignment()) == 4, seen)
