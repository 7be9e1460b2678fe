"""A schema registry as one of Confluent answers, and one that answers whatever it likes."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Answers:
    """By path: what is answered, as status, headers and body. ``asked`` are the paths in order."""

    def __init__(self) -> None:
        self.by_path: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []
        self.url = ""

    def schema(self, number: int, **said: Any) -> None:
        self.raw(number, json.dumps(said).encode())

    def raw(self, number: int, body: bytes, status: int = 200, **headers: str) -> None:
        self.by_path[f"/schemas/ids/{number}"] = (status, headers, body)


@contextmanager
def registry(tls: ssl.SSLContext | None = None) -> Iterator[Answers]:
    answers = Answers()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers.asked.append(self.path)
            missing = (404, {}, b'{"error_code": 40403, "message": "Schema not found"}')
            status, headers, body = answers.by_path.get(self.path, missing)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silent."""

        def handle_error(self, *_: object) -> None:
            """Who asked has left: it was too much for him."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        answers.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield answers
        finally:
            server.shutdown()
            thread.join()
