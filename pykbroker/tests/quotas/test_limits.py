from __future__ import annotations

from itertools import combinations
from typing import Final

from pykbroker.quotas.limits import Entity, Limit, QuotaLimits

KEY: Final = "producer_byte_rate"


def entity(user: str | None = "", client: str | None = "") -> Entity:
    """None is the default; "" leaves the part out."""
    return tuple((kind, name) for kind, name in (("client-id", client), ("user", user)) if name != "")


#: In Kafka's order, with those whose use counts together.
ORDER: Final[list[tuple[Entity, tuple[str, str]]]] = [
    (entity("alice", "app"), ("alice", "app")),
    (entity("alice", None), ("alice", "app")),
    (entity("alice"), ("alice", "")),
    (entity(None, "app"), ("alice", "app")),
    (entity(None, None), ("alice", "app")),
    (entity(None), ("alice", "")),
    (entity(client="app"), ("", "app")),
    (entity(client=None), ("", "app")),
]


def test_of_any_two_the_first_holds() -> None:
    for (first, holder), (second, _) in combinations(ORDER, 2):
        limits = QuotaLimits({second: {KEY: 2.0}, first: {KEY: 1.0}}, KEY)
        assert limits.of("alice", "app") == Limit(holder, 1.0)
    for only, holder in ORDER:
        assert QuotaLimits({only: {KEY: 3.0}}, KEY).of("alice", "app") == Limit(holder, 3.0)


def test_quotas_of_others_and_other_keys_do_not_hold() -> None:
    limits = QuotaLimits(
        {entity("bob"): {KEY: 1.0}, entity(client="x"): {KEY: 1.0}, entity("alice"): {"consumer_byte_rate": 1.0}}, KEY
    )
    assert limits.of("alice", "app") is None
    assert limits.of("alice", "app") is None


def test_addresses_are_no_clients() -> None:
    assert not QuotaLimits({(("ip", None),): {"connection_creation_rate": 1.0}}, "connection_creation_rate")


def test_without_a_client_id_only_quotas_of_users_hold() -> None:
    every = {each: {KEY: float(number)} for number, (each, _) in enumerate(ORDER)}
    assert QuotaLimits(every, KEY).of("alice", "") == Limit(("alice", ""), 2.0)
    assert QuotaLimits({entity(client=None): {KEY: 1.0}}, KEY).of("alice", "") is None
