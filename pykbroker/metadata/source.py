"""Where what is known of the cluster comes from: one image, and who is told when it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage

Subscriber = Callable[["MetadataImage", "MetadataDelta"], None]


class MetadataSource(Protocol):
    """What readers have."""

    @property
    def image(self) -> MetadataImage:
        """The cluster as it was last published; always the same object."""
        ...

    def subscribe(self, subscriber: Subscriber, /) -> None:
        """Call ``subscriber(image, delta)`` after each change of the image, before who asked for it is answered."""
        ...
