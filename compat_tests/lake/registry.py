"""A schema registry with the two paths that a decoder requests: schemas by id, and versions of subjects."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Schemas:
    """The registry's schemas; ``requested`` are the paths of requests. ``faults`` are statuses that it answers first."""

    def __init__(self) -> None:
        self.by_id: dict[int, dict[str, Any]] = {}
        self.versions: dict[tuple[str, int], dict[str, Any]] = {}
        self.requested: list[str] = []
        self.faults: list[int] = []
        self.url = ""

    def answer(self, path: str) -> dict[str, Any] | None:
        self.requested.append(path)
        match path.strip("/").split("/"):
            case ["schemas", "ids", number]:
                return self.by_id.get(int(number))
            case ["subjects", subject, "versions", version]:
                return self.versions.get((subject, int(version)))
        return None


@contextmanager
def serving() -> Iterator[Schemas]:
    """A registry on a free port."""
    schemas = Schemas()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fault = schemas.faults.pop(0) if schemas.faults else None
            found = schemas.answer(self.path) if fault is None else None
            missing = {"error_code": 40403, "message": "Schema not found"} if fault is None else {"message": "later"}
            body = json.dumps(found or missing).encode()
            self.send_response(200 if found else fault or 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        schemas.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield schemas
        server.shutdown()
        thread.join()


def framed(number: int, value: bytes, path: bytes = b"") -> bytes:
    """A value in the frame of a registry's serializer."""
    return b"\0" + number.to_bytes(4, "big") + path + value
