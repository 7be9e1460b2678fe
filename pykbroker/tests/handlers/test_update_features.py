"""UpdateFeatures."""

from __future__ import annotations

import pytest

from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord
from pykbroker.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest


def update(broker, *features, version, validate_only=False):
    updates = [FeatureUpdateKey(*feature) for feature in features]
    return broker.ask(UpdateFeaturesRequest(60000, updates, validate_only), version)


@pytest.fixture
def before_group_version(broker):
    """The brokers, in a cluster whose group.version was never raised."""
    broker.controller.commit([FeatureLevelRecord("group.version", 0)])
    return broker


@pytest.mark.parametrize("version", [0, 1, 2])
def test_features(before_group_version, version):
    broker = before_group_version
    answer = update(broker, ("group.version", 1), version=version)
    told = [("group.version", 0, "NONE")] if version < 2 else []
    assert [(r.feature, r.error_code, r.error_message) for r in answer.results] == told
    assert (answer.error_code, answer.error_message) == (0, None)
    assert broker.image.features["group.version"] == 1
    refused = update(broker, ("group.version", 0), version=version)
    assert (refused.error_code, refused.results) == (95, [])
    assert refused.error_message.startswith(
        "The update failed for all features since the following feature had an error: "
        "Invalid update version 0 for feature group.version."
    )


def test_a_feature_update_that_is_only_validated(before_group_version):
    broker = before_group_version
    assert update(broker, ("group.version", 1), version=1, validate_only=True).error_code == 0
    assert "group.version" not in broker.image.features
