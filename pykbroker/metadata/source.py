"""The source of metadata: one image, and notifications of its changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pykbroker.metadata.answers import Answers
    from pykbroker.metadata.delta import MetadataDelta, PartitionChange
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.runtime.slices import Steps

Subscriber = Callable[["MetadataImage", "MetadataDelta"], None]
#: Steps that make ready for the changes of a subscriber's partitions, before anything of these is seen.
Readying = Callable[["Sequence[PartitionChange]"], "Steps"]


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

    def subscribe(self, subscriber: Subscriber, /, readying: Readying | None = None) -> Callable[[], None]:
        """Call ``subscriber(image, delta)`` after each change of the image, before the request for it is answered. A change of
        many partitions is certain when ``readying`` begins, and published after its last step. Returns the function that ends
        the subscription.
        """
        ...
