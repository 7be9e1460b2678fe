"""Feature levels go up and down where they may; the refusals are Apache Kafka's."""

from __future__ import annotations

import pytest

from pykbroker.controller.feature_updates import FeatureUpdate, UpgradeType, plan_updates, upgrades_voters
from pykbroker.metadata.image import BROKER_RESOURCE
from pykbroker.tests.kit.metadata import make_controller
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord

UPGRADE, SAFE, UNSAFE = UpgradeType
ELR = "eligible.leader.replicas.version"


@pytest.fixture
def controller():
    controller = make_controller()
    controller.commit([FeatureLevelRecord("metadata.version", 30), FeatureLevelRecord("group.version", 1)])
    return controller


def plan(controller, *updates, kraft_version=0):
    updates = [FeatureUpdate(*update) for update in updates]
    return plan_updates(controller.image, 1, kraft_version, updates, static_min_isr=2)


def update(controller, *updates):
    controller.commit(plan(controller, *updates))
    return controller.image.features


def refusal(controller, *updates):
    with pytest.raises(KafkaError) as raised:
        plan(controller, *updates)
    assert raised.value.code == ErrorCode.INVALID_UPDATE_VERSION
    return raised.value.message


def test_down_and_up(controller):
    assert update(controller, ("group.version", 0, SAFE)) == {"metadata.version": 30}
    assert update(controller, ("group.version", 1), (ELR, 1))["group.version"] == 1
    assert controller.image.features[ELR] == 1


def test_no_change_writes_nothing(controller):
    assert plan(controller, ("group.version", 1), ("metadata.version", 30), ("kraft.version", 0)) == []


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        (("x", 1), "Invalid update version 1 for feature x. Local controller 1 does not support this feature."),
        (("x", 0), "Invalid update version 0 for feature x. Feature x not found."),
        (("group.version", -1), "A feature version cannot be less than 0."),
        (("group.version", 2), "Local controller 1 only supports versions 0-1"),
        (("group.version", 1, 0), "The controller does not support the given upgrade type."),
        (("group.version", 0), "Can't downgrade the version of this feature without setting the upgrade type"),
        (("streams.version", 1, SAFE), "Can't downgrade to a newer version."),
        (("metadata.version", 6), "Local controller 1 only supports versions 7-33"),
        (
            ("metadata.version", 29, SAFE),
            "Unsupported metadata.version downgrade from 30 to 29. Refusing to perform the requested downgrade",
        ),
        (("metadata.version", 29, UNSAFE), "Unsafe metadata downgrade is not supported in this version."),
        (("kraft.version", 2), "Local controller 1 only supports versions 0-1"),
        (("kraft.version", 1, SAFE), "Can't downgrade to a newer version."),
    ],
)
def test_refusals(controller, wanted, fault):
    assert fault in refusal(controller, wanted)


def test_voters_become_dynamic_by_no_record_of_a_feature_and_stay_so(controller):
    asked = ("kraft.version", 1)
    assert plan(controller, asked) == plan(controller, asked, kraft_version=1) == []
    assert upgrades_voters(0, [FeatureUpdate(*asked)])
    assert not upgrades_voters(1, [FeatureUpdate(*asked)])
    assert not upgrades_voters(0, [FeatureUpdate("group.version", 1)])
    for kind in (SAFE, UNSAFE):
        with pytest.raises(KafkaError, match=r"Can't downgrade the version of this feature\.$"):
            plan(controller, ("kraft.version", 0, kind), kraft_version=1)


def test_a_broker_that_does_not_know_the_level(controller):
    controller.image.brokers[1].features["group.version"] = (0, 0)
    controller.image.brokers[1].features["streams.version"] = (0, 0)
    assert "Broker 1 does not support this feature." in refusal(controller, ("streams.version", 1))


def test_levels_that_need_a_newer_metadata_version(controller):
    controller.commit([FeatureLevelRecord("metadata.version", 22)])
    assert "because it depends on metadata.version level 23" in refusal(controller, (ELR, 1))
    assert update(controller, (ELR, 1), ("metadata.version", 23))[ELR] == 1


def test_a_metadata_version_with_the_same_records_can_be_taken_back(controller):
    controller.commit([FeatureLevelRecord("metadata.version", 29)])
    assert update(controller, ("metadata.version", 24, SAFE))["metadata.version"] == 24
    assert "Refusing" in refusal(controller, ("metadata.version", 22, SAFE))


def test_eligible_leaders_come_with_one_min_isr_for_all_brokers(controller):
    update(controller, (ELR, 1))
    assert controller.image.config(BROKER_RESOURCE, "") == {"min.insync.replicas": "2"}
    assert plan(controller, (ELR, 1)) == []
    assert ELR not in update(controller, (ELR, 0, SAFE))
    assert controller.image.config(BROKER_RESOURCE, "") == {"min.insync.replicas": "2"}


def test_one_refusal_stops_all_and_the_later_of_two_counts(controller):
    assert "feature x" in refusal(controller, ("group.version", 0, SAFE), ("x", 1))
    assert update(controller, ("group.version", 0, SAFE), ("group.version", 1))["group.version"] == 1
