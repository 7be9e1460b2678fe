"""What a test sees of its brokers' clients: their requests, and recordings of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pykbroker.steered.intercept import WatchedDispatcher
from pykbroker.steered.request_log import Request, RequestLog, chosen
from pykbroker.testing.access import Access

if TYPE_CHECKING:
    from pykbroker.sessions.comparing import Played


class Observations(Access):
    """See the module."""

    #: The brokers' dispatcher.
    _dispatcher: WatchedDispatcher

    def __init__(self) -> None:
        super().__init__()
        self._requests = RequestLog()

    def unserved(self) -> list[Request]:
        """Requests that closed their connection, since the API or version is not served or they were malformed; ``refused`` has
        the reason.
        """
        return [each for each in self.requests() if each.refused is not None]

    def check_served(self) -> None:
        """Raises AssertionError if clients sent requests that are not served."""
        found = self.unserved()
        if found:
            raise AssertionError("clients sent what is not served:\n" + "\n".join(map(str, found)))

    def requests(
        self, api: str | None = None, *, client_id: str | None = None, topic: str | None = None
    ) -> list[Request]:
        """The requests since the start or the last reset, in order: all, or those of an API, of a client, or about a topic. The
        last thousand are kept. Raises ValueError for an unknown API.
        """
        return chosen(self._here.call(list, self._requests), api, client_id, topic)

    @contextmanager
    def recording(self, path: str | os.PathLike[str]) -> Iterator[None]:
        """Record every request of clients and its answer to a file until the end of ``with``, for ``play``. Raises RuntimeError
        if another recording is under way.
        """
        from pykbroker.sessions.recording import Recorder

        if self._dispatcher.is_recording:
            raise RuntimeError("a session is being recorded already; end its `with` first")
        recorder = Recorder()
        self._here.call(self._dispatcher.record, recorder)
        try:
            yield
        finally:
            if self._here.running:
                self._here.call(self._dispatcher.end_recording)
            self._dispatcher.end_recording()
            recorder.session.write(Path(path))

    def play(self, path: str | os.PathLike[str], *, timeout: float = 30.0) -> Played:
        """Replay a recording to this broker; returns the differing answers. Raises BadSession with the line of the error."""
        return play(path, self.bootstrap_servers, timeout=timeout)


def play(path: str | os.PathLike[str], bootstrap_servers: str, *, timeout: float = 30.0) -> Played:
    """Replay a recording to any Kafka; returns the differing answers. Raises BadSession with the line of the error, OSError, and
    ValueError if the session has more brokers than addresses are given.
    """
    from pykbroker.sessions import playing

    return playing.play(Path(path), bootstrap_servers, timeout_s=timeout)
