"""What a test sees of the requests of its brokers' clients, which can be recorded and played again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pykbroker.testing.access import Access
from pykbroker.testing.intercept import Interceptors, WatchedDispatcher
from pykbroker.testing.request_log import Request, RequestLog, chosen

if TYPE_CHECKING:
    from pykbroker.sessions.comparing import Played


class Observing(Access):
    """See the module."""

    #: What the brokers answer by.
    _dispatcher: WatchedDispatcher

    def __init__(self) -> None:
        super().__init__()
        self._interceptors = Interceptors()
        self._requests = RequestLog()
        self._interceptors.steps.append(self._requests)

    def unserved(self) -> list[Request]:
        """Requests whose connections were closed instead of an answer, for their API or its version is not served, or they
        were malformed; each says why in ``refused``.
        """
        return [each for each in self.requests() if each.refused is not None]

    def check_served(self) -> None:
        """Raises AssertionError where clients sent what is not served."""
        found = self.unserved()
        if found:
            raise AssertionError("clients sent what is not served:\n" + "\n".join(map(str, found)))

    def requests(
        self, api: str | None = None, *, client_id: str | None = None, topic: str | None = None
    ) -> list[Request]:
        """What clients sent since the start or the last reset, in its order: all, or of an API, a client, about a topic.
        The newest thousand are kept. Raises ValueError for an API that Kafka does not have.
        """
        return chosen(self._here.call(list, self._requests), api, client_id, topic)

    @contextmanager
    def recording(self, path: str | os.PathLike[str]) -> Iterator[None]:
        """Write a file with every request that clients send until the end of ``with``, and what each was answered, for
        ``play``. Raises RuntimeError where another recording is under way.
        """
        from pykbroker.sessions.recording import Recorder  # noqa: PLC0415 - start-up counts

        if self._dispatcher.recorder is not None:
            raise RuntimeError("a session is being recorded already; end its `with` first")
        recorder = Recorder()
        self._here.call(setattr, self._dispatcher, "recorder", recorder)
        try:
            yield
        finally:
            if self._here.running:
                self._here.call(setattr, self._dispatcher, "recorder", None)
            self._dispatcher.recorder = None
            recorder.session.write(Path(path))

    def play(self, path: str | os.PathLike[str], *, timeout: float = 30.0) -> Played:
        """Send what is recorded in a file to this broker, and say which answers differ. Raises BadSession with the line of
        what is wrong.
        """
        return play(path, self.bootstrap_servers, timeout=timeout)

    @property
    def interceptors(self) -> Interceptors:
        """What looks at requests and acts on them, the outermost first."""
        _ = self._here
        return self._interceptors


def play(path: str | os.PathLike[str], bootstrap_servers: str, *, timeout: float = 30.0) -> Played:
    """Send what is recorded in a file to any broker of Kafka's protocol, and say which answers differ. Raises BadSession with
    the line of what is wrong, OSError, and ValueError where the session has more brokers than there are.
    """
    from pykbroker.sessions import playing  # noqa: PLC0415 - start-up counts

    return playing.play(Path(path), bootstrap_servers, timeout_s=timeout)
