"""A broker's own right to a topic of dead letters, where its user among brokers is no super user.

Apache Kafka's broker sends letters to the leader of their partition, to itself too, as its user of the listener between brokers, who
needs WRITE; here brokers write without asking anybody (docs/share-groups.md).
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.authorization.brokers import SASL, USERS, Addresses, AuthorizingKafka, AuthorizingPykbroker
from compat_tests.authorization.signing import ADMIN, PASSWORD, SignedAsk
from compat_tests.harness.awaiting import until
from compat_tests.oracle.cases.dead_letters import dead_letter_topic, reads_with_letters, records_of
from compat_tests.oracle.cases.share_groups import ACKNOWLEDGE, REJECT, acknowledges, acquired
from pykbroker.security.operations import CLUSTER_ACTION, WRITE
from pykbroker.security.resources import CLUSTER, TOPIC

_BROKER = USERS[0]
_JAAS = "listener.name.sasl_plaintext.plain.sasl.jaas.config"


class _BetweenBrokers(Addresses):
    """Brokers talk to each other as a user who has no right that is not given."""

    @property
    def settings(self) -> dict[str, str]:
        given = super().settings
        own = f'required username="{_BROKER}" password="{PASSWORD.format(_BROKER)}"'
        return {
            **given,
            _JAAS: given[_JAAS].replace("required", own),
            "inter.broker.listener.name": SASL,
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
        }


@pytest.mark.parametrize(("kind", "letters"), [(AuthorizingKafka, 0), (AuthorizingPykbroker, 1)])
def test_letters_to_a_topic_that_the_brokers_user_may_not_write_to(
    kind: type[AuthorizingKafka | AuthorizingPykbroker], letters: int, tmp_path: Path
) -> None:
    addresses = _BetweenBrokers()
    broker = kind(tmp_path / "broker", addresses)
    broker.start()
    try:
        with closing(SignedAsk(addresses.users, 0, "dlq.it", _BROKER)) as ask:
            ask.allow([(CLUSTER, None, CLUSTER_ACTION), (TOPIC, "may", WRITE)])
        refused, written = (_rejected(addresses, prefix) for prefix in ("it-may-not", "it-may"))
        with closing(SignedAsk(addresses.users, 0, "looking", ADMIN)) as ask:
            for topic in (refused, written):
                ask.learn(topic)
            until(lambda: any(records_of(ask, written)), "a letter")
            assert len(list(records_of(ask, refused))) == letters
    finally:
        broker.stop()


def _rejected(addresses: Addresses, prefix: str) -> str:
    """The topic for the letter of a record that was rejected."""
    with closing(SignedAsk(addresses.users, 0, prefix, ADMIN)) as ask:
        ask.wait_for_coordinators()
        letters = dead_letter_topic(ask, errors_deadletterqueue_group_enable="true")
        group, topic = reads_with_letters(ask, letters, copies=False)
        acquired(ask, group, topic)
        ask.quietly(acknowledges(ask, group, topic, 1, (0, 0, [REJECT])), ACKNOWLEDGE)
    return letters
