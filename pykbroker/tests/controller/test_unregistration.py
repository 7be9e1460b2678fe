"""Removal of controllers' registrations, in Kafka 4.4.0's codes and words."""

from __future__ import annotations

import pytest

from pykbroker.controller.unregistration import plan
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.replay import ReplayError, replay
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.register_controller_record import RegisterControllerRecord


@pytest.fixture
def image() -> MetadataImage:
    made = MetadataImage("c")
    made.features["metadata.version"] = 33
    replay(made, RegisterControllerRecord(controller_id=3), MetadataDelta())
    return made


def test_another_controller_is_forgotten_once(image: MetadataImage) -> None:
    (record,) = plan(image, 1, 3)
    replay(image, record, MetadataDelta())
    assert image.controllers == {}
    with pytest.raises(ReplayError):
        replay(image, record, MetadataDelta())


@pytest.mark.parametrize(
    ("level", "controller_id", "code", "said"),
    [
        (33, 1, ErrorCode.INVALID_REQUEST, "Controller cannot unregister itself while it is active."),
        (33, 77, ErrorCode.CONTROLLER_ID_NOT_REGISTERED, "Controller ID 77 is not currently registered."),
        (
            32,
            3,
            ErrorCode.UNSUPPORTED_VERSION,
            "The current MetadataVersion is too old to support controller unregistration.",
        ),
    ],
)
def test_refusals(image: MetadataImage, level: int, controller_id: int, code: ErrorCode, said: str) -> None:
    image.features["metadata.version"] = level
    with pytest.raises(KafkaError) as refused:
        plan(image, 1, controller_id)
    assert (refused.value.code, refused.value.message) == (code, said)
