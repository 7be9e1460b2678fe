"""Client quotas: AlterClientQuotas and DescribeClientQuotas."""

from __future__ import annotations

import math

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

EXACT, DEFAULT, SPECIFIED = range(3)
RATE = "producer_byte_rate"

Entity = list[tuple[str, str | None]]
Ops = list[tuple[str, float | None]]


def alter(*entries: tuple[Entity, Ops], validate_only: bool = False) -> AlterClientQuotasRequest:
    """A value of None takes the quota away."""
    return AlterClientQuotasRequest(
        [
            AlterClientQuotasRequestEntryData(
                [EntityData(kind, name) for kind, name in entity],
                [OpData(key, value or 0.0, value is None) for key, value in ops],
            )
            for entity, ops in entries
        ],
        validate_only,
    )


def describe(*components: tuple[str, int, str | None], strict: bool = False) -> DescribeClientQuotasRequest:
    return DescribeClientQuotasRequest([ComponentData(*component) for component in components], strict)


def entries(count: int):
    return lambda answer: len(answer.entries or []) == count


@case(ApiKey.ALTER_CLIENT_QUOTAS)
def quotas_set_changed_and_removed(ask: Ask) -> None:
    user = ask.name("user")
    entity: Entity = [("user", user)]
    filtered = describe(("user", EXACT, user))
    ask(alter((entity, [(RATE, 1024.0), ("request_percentage", 12.5)])))
    ask.until(entries(1), filtered)
    ask(alter((entity, [(RATE, 1024.0)])))
    ask(alter((entity, [(RATE, 2048.0), ("request_percentage", None)])))
    ask.until(lambda a: [(v.key, v.value) for v in a.entries[0].values] == [(RATE, 2048.0)], filtered)
    ask(alter((entity, [("consumer_byte_rate", None)])))
    ask(alter((entity, [(RATE, None)])))
    ask.until(entries(0), filtered)
    ask(alter((entity, [(RATE, 1.0)]), validate_only=True))
    ask(filtered)


@case(ApiKey.ALTER_CLIENT_QUOTAS)
def keys_and_values(ask: Ask) -> None:
    user, client = ask.name("user"), ask.name("client")
    keys = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
    for entity in (
        [("user", user)],
        [("client-id", client)],
        [("user", user), ("client-id", client)],
        [("ip", "10.0.0.1")],
    ):
        for key in (*keys, "connection_creation_rate", "no_such_rate", "", "SCRAM-SHA-256"):
            ask(alter((entity, [(key, 8.0)]), validate_only=True))
    for key in keys:
        for value in (0.0, -1.0, 0.5, 1.5, 1e-7, 1e15, 1e300, math.inf, -math.inf, math.nan, 9.3e18):
            ask(alter(([("user", user)], [(key, value)]), validate_only=True))
    for value in (0.0, -1.0, 1.5, 2147483647.0, 2147483648.0):
        ask(alter(([("ip", "10.0.0.1")], [("connection_creation_rate", value)]), validate_only=True))
    ask(alter(([("user", user)], [("no_such_rate", None)])))
    ask(alter(([("user", user)], [])))


@case(ApiKey.ALTER_CLIENT_QUOTAS)
def entities(ask: Ask) -> None:
    user = ask.name("user")
    for entity in (
        [],
        [("user", "")],
        [("client-id", "")],
        [("ip", "")],
        [("ip", "no such host")],
        [("ip", "999.1.1.1")],
        [("ip", "::1")],
        [("ip", "localhost")],
        [("ip", None)],
        [("user", None)],
        [("user", user), ("ip", "10.0.0.1")],
        [("client-id", user), ("ip", "10.0.0.1")],
        [("user", user), ("client-id", user), ("ip", "10.0.0.1")],
        [("user", user), ("user", "other")],
        [("group", "g")],
        [("", "g")],
        [("user", user), ("group", None)],
    ):
        key = "connection_creation_rate" if entity and entity[0][0] == "ip" else RATE
        ask(alter((entity, [(key, 8.0)]), validate_only=True))


@case(ApiKey.ALTER_CLIENT_QUOTAS)
def several_entities_and_repeats(ask: Ask) -> None:
    one, two = ask.name("one"), ask.name("two")
    ask(alter(validate_only=True))
    ask(alter(([("user", one)], [(RATE, 1.0)]), ([("user", two)], [("nothing", 1.0)]), validate_only=True))
    ask(alter(([("user", one)], [(RATE, 1.0)]), ([("user", one)], [(RATE, 2.0)]), validate_only=True))
    ask(alter(([("user", one)], [(RATE, 1.0), (RATE, 2.0)]), validate_only=True))
    ask(alter(([("user", one)], [(RATE, 1.0), ("bad", 2.0)]), ([("user", two)], [(RATE, 1.0)])))
    ask.until(entries(1), describe(("user", EXACT, two)))
    ask(describe(("user", EXACT, one)))
    ask(alter(([("user", two)], [(RATE, None)])))


@case(ApiKey.DESCRIBE_CLIENT_QUOTAS)
def filters(ask: Ask) -> None:
    user, client = ask.name("user"), ask.name("client")
    made: list[Entity] = [
        [("user", user)],
        [("user", None)],
        [("client-id", client)],
        [("client-id", None)],
        [("user", user), ("client-id", client)],
        [("user", user), ("client-id", None)],
        [("user", None), ("client-id", client)],
        [("user", None), ("client-id", None)],
    ]
    ips: list[Entity] = [[("ip", "10.1.2.3")], [("ip", None)]]
    ask(alter(*((entity, [(RATE, float(n + 1))]) for n, entity in enumerate(made))))
    ask(alter(*((entity, [("connection_creation_rate", 1e6)]) for entity in ips)))
    ask.until(entries(10), describe())
    ask(describe(strict=True))
    for strict in (False, True):
        for kind, name in (("user", user), ("client-id", client), ("ip", "10.1.2.3")):
            for match_type, match in ((EXACT, name), (DEFAULT, None), (SPECIFIED, None), (EXACT, "nobody")):
                ask(describe((kind, match_type, match), strict=strict))
        for first in ((EXACT, user), (DEFAULT, None), (SPECIFIED, None)):
            for second in ((EXACT, client), (DEFAULT, None), (SPECIFIED, None)):
                ask(describe(("user", *first), ("client-id", *second), strict=strict))
    ask(alter(*((entity, [(RATE, None)]) for entity in made)))
    ask(alter(*((entity, [("connection_creation_rate", None)]) for entity in ips)))
    ask.until(entries(0), describe())


@case(ApiKey.DESCRIBE_CLIENT_QUOTAS)
def filters_that_are_refused(ask: Ask) -> None:
    for components in (
        [("", EXACT, "x")],
        [("group", EXACT, "x")],
        [("user", EXACT, None)],
        [("user", DEFAULT, "x")],
        [("user", SPECIFIED, "x")],
        [("user", 3, None)],
        [("user", -1, None)],
        [("user", EXACT, "x"), ("user", DEFAULT, None)],
        [("user", EXACT, "x"), ("ip", EXACT, "10.0.0.1")],
        [("ip", SPECIFIED, None), ("client-id", EXACT, "c")],
    ):
        ask(describe(*components))
