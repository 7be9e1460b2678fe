"""Quotas are set, removed and found; the refusals are Apache Kafka's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.controller.client_quotas import EntityFilter, QuotaAlteration, entity_of, find_quotas, plan_alterations
from pykbroker.metadata.image_records import image_records
from pykbroker.tests.kit.metadata import make_controller, records_in, replayed
from pykbroker.wire.errors import ErrorCode, KafkaError

RATE = "producer_byte_rate"
EXACT, DEFAULT, SPECIFIED = range(3)


def entity(**parts):
    return entity_of((kind.replace("_", "-"), name) for kind, name in parts.items())


def alter(controller, *alterations, unknown=()):
    """(entity, {key: value}) pairs; what is wrong with each entity, or None."""
    wanted = [QuotaAlteration(who, list(quotas.items())) for who, quotas in alterations]
    records, results = plan_alterations(controller.image, wanted, frozenset(unknown))
    controller.commit(records)
    assert all(error is None or error.code == ErrorCode.INVALID_REQUEST for error in results.values())
    return [error and error.message for error in results.values()]


def find(controller, *filters, strict=False):
    return dict(find_quotas(controller.image, [EntityFilter(*each) for each in filters], strict=strict))


@pytest.fixture
def controller():
    return make_controller()


def test_set_change_remove(controller):
    alice = entity(user="alice")
    assert alter(controller, (alice, {RATE: 1024.0, "request_percentage": 0.5})) == [None]
    assert alter(controller, (alice, {RATE: 2048.0, "request_percentage": None})) == [None]
    assert find(controller) == {alice: {RATE: 2048.0}}
    before = controller.image.offset
    assert alter(controller, (alice, {RATE: 2048.0, "consumer_byte_rate": None})) == [None]
    assert controller.image.offset == before
    assert alter(controller, (alice, {RATE: None})) == [None]
    assert find(controller) == {}


def test_what_is_wrong_with_one_key_stops_its_entity_alone(controller):
    bad, good = entity(user="bad"), entity(user="good")
    results = alter(controller, (bad, {RATE: 1.0, "no_such_rate": 1.0}), (good, {RATE: 1.0}))
    assert results == ["Invalid configuration key no_such_rate", None]
    assert list(find(controller)) == [good]


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        (RATE, 0.0, f"Quota {RATE} must be greater than 0"),
        (RATE, -math.inf, f"Quota {RATE} must be a finite number"),
        (RATE, 1.5, f"{RATE} cannot be a fractional value."),
        (RATE, 1e-7, None),
        (RATE, math.nan, f"Quota {RATE} must be a finite number"),
        (RATE, math.inf, f"Quota {RATE} must be a finite number"),
        ("request_percentage", 1.5, None),
        ("controller_mutation_rate", 1e300, None),
        ("connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
    ],
)
def test_values_of_users(controller, key, value, fault):
    assert alter(controller, (entity(user="u"), {key: value})) == [fault]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (2147483647.0, None),
        (2147483648.0, "Proposed value for connection_creation_rate is too large for an INT."),
    ],
)
def test_values_of_addresses(controller, value, fault):
    assert alter(controller, (entity(ip="10.0.0.1"), {"connection_creation_rate": value})) == [fault]


@pytest.mark.parametrize(
    ("who", "fault"),
    [
        (entity(), "Invalid empty client quota entity"),
        (entity(user=""), "Empty user not supported"),
        (entity(group="g"), "Unhandled client quota entity type: group"),
        (entity(ip="nowhere"), "nowhere is not a valid IP or resolvable host."),
        (
            entity(ip="10.0.0.1", user="u"),
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (entity(user=None), None),
        (entity(user=None, client_id="c"), None),
    ],
)
def test_entities(controller, who, fault):
    assert alter(controller, (who, {RATE: 1.0}), unknown=["nowhere"]) == [fault]


def test_an_entity_or_a_key_named_twice(controller):
    who = entity(user="u", client_id=None)
    text = "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=null, user=u})"
    assert alter(controller, (who, {RATE: 1.0}), (who, {RATE: 2.0})) == [text]
    assert find(controller) == {who: {RATE: 1.0}}
    twice = [QuotaAlteration(who, [(RATE, 3.0), (RATE, 4.0)])]
    records, results = plan_alterations(controller.image, twice, frozenset())
    assert (records, results[who].message) == ([], text)


def test_filters(controller):
    made = [
        entity(user="u"),
        entity(user=None),
        entity(client_id="c"),
        entity(user="u", client_id="c"),
        entity(user="u", client_id=None),
    ]
    alter(controller, *((who, {RATE: 1.0}) for who in made))
    assert list(find(controller)) == made
    assert list(find(controller, strict=True)) == []
    assert list(find(controller, ("user", EXACT, "u"))) == [made[0], made[3], made[4]]
    assert list(find(controller, ("user", EXACT, "u"), strict=True)) == [made[0]]
    assert list(find(controller, ("user", DEFAULT, None))) == [made[1]]
    assert list(find(controller, ("client-id", SPECIFIED, None))) == made[2:]
    assert list(find(controller, ("user", SPECIFIED, None), ("client-id", EXACT, "c"), strict=True)) == [made[3]]


@pytest.mark.parametrize(
    ("filters", "code"),
    [
        ([("", EXACT, "x")], ErrorCode.INVALID_REQUEST),
        ([("group", EXACT, "x")], ErrorCode.UNSUPPORTED_VERSION),
        ([("user", EXACT, None)], ErrorCode.INVALID_REQUEST),
        ([("user", DEFAULT, "x")], ErrorCode.INVALID_REQUEST),
        ([("user", SPECIFIED, "x")], ErrorCode.INVALID_REQUEST),
        ([("user", 3, None)], ErrorCode.INVALID_REQUEST),
        ([("user", EXACT, "x"), ("user", EXACT, "y")], ErrorCode.INVALID_REQUEST),
        ([("ip", EXACT, "10.0.0.1"), ("user", EXACT, "y")], ErrorCode.INVALID_REQUEST),
    ],
)
def test_filters_that_mean_nothing(controller, filters, code):
    with pytest.raises(KafkaError) as raised:
        find(controller, *filters)
    assert raised.value.code == code


_NAMES = st.sampled_from(["a", "b", None])
_ENTITIES = st.dictionaries(st.sampled_from(["user", "client-id"]), _NAMES, min_size=1).map(
    lambda parts: entity_of(iter(parts.items()))
)
_VALUES = st.one_of(st.none(), st.integers(1, 9).map(float))
_QUOTAS = st.dictionaries(st.sampled_from([RATE, "consumer_byte_rate"]), _VALUES, min_size=1)


@given(st.lists(st.tuples(_ENTITIES, _QUOTAS), max_size=20))
def test_the_log_and_a_snapshot_of_it_hold_what_was_set(changes):
    controller = make_controller()
    model = {}
    for who, quotas in changes:
        assert alter(controller, (who, quotas)) == [None]
        model[who] = {key: value for key, value in {**model.get(who, {}), **quotas}.items() if value is not None}
    model = {who: quotas for who, quotas in model.items() if quotas}
    assert controller.image.client_quotas == model
    assert replayed(records_in(controller.log)).client_quotas == model
    assert replayed(list(image_records(controller.image))).client_quotas == model
