"""The source of metadata: one image, and notifications of its changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pykbroker.metadata.answers import Answers
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage

Subscriber = Callable[["MetadataImage", "MetadataDelta"], None]


class MetadataSource(Protocol):
    """The interface for readers."""

    @property
    def image(self) -> MetadataImage:
        """The last published image; always the same object."""
        ...

    @property
    def answers(self) -> Answers:
        """Cached Metadata answers since the last change."""
        ...

    def subscribe(self, subscriber: Subscriber, /) -> Callable[[], None]:
        """Call ``subscriber(image, delta)`` after each change of the image, before the request for it is answered. Returns the
        function that ends the subscription.
        """
        ...
