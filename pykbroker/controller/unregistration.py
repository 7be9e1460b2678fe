"""Removal of a controller's registration. Rules and messages: QuorumController and ClusterControlManager of Kafka 4.4.0."""

from __future__ import annotations

from typing import Final

from pykbroker.metadata.features import METADATA_VERSION
from pykbroker.metadata.image import MetadataImage
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.unregister_controller_record import UnregisterControllerRecord

#: The metadata.version from which on there is a record for it.
_SINCE: Final = 33


def plan(image: MetadataImage, active: int, controller_id: int) -> list[UnregisterControllerRecord]:
    """The record that removes a registration. ``active`` is the id of the active controller.

    Raises KafkaError INVALID_REQUEST for the active one, UNSUPPORTED_VERSION or CONTROLLER_ID_NOT_REGISTERED.
    """
    if controller_id == active:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Controller cannot unregister itself while it is active.")
    if image.features.get(METADATA_VERSION, 0) < _SINCE:
        text = "The current MetadataVersion is too old to support controller unregistration."
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, text)
    if controller_id not in image.controllers:
        text = f"Controller ID {controller_id} is not currently registered."
        raise KafkaError(ErrorCode.CONTROLLER_ID_NOT_REGISTERED, text)
    return [UnregisterControllerRecord(controller_id=controller_id)]
