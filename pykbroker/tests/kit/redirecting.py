"""HTTP servers that lead elsewhere, and say what they were told."""

from __future__ import annotations

import json
import ssl
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pykbroker.tests.kit.certificates import broker
from pykbroker.tests.kit.tokens import issuer, key_set


class Server:
    """Redirects every request to ``elsewhere``, or else answers with keys and a token; ``heard`` are the Authorization headers."""

    def __init__(self, elsewhere: str | None = None, code: int = 302) -> None:
        self.heard: list[str | None] = []
        self.elsewhere = elsewhere
        self.code = code
        self.address = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.heard.append(handler.headers["Authorization"])
        if self.elsewhere is None:
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(json.dumps({"access_token": "good", **json.loads(key_set(issuer()))}).encode())
        else:
            handler.send_response(self.code)
            handler.send_header("Location", self.elsewhere)
            handler.end_headers()

    @contextmanager
    def running(self, *, tls: bool = False) -> Iterator[Server]:
        answer = self.answer

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer(self)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            if tls:
                server.socket = _server_context().wrap_socket(server.socket, server_side=True)
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            self.address = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}/"
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(broker().pem)
        file.flush()
        context.load_cert_chain(file.name)
    return context
