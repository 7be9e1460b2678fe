"""The schema registry's port: HTTP around ``pykbroker/registry/rest``, as clients of Confluent's registry speak it."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import json
import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from aiohttp import hdrs, web

from pykbroker.http.body import PARSED_HERE, object_of, read
from pykbroker.http.connection import HttpConnection, at_work
from pykbroker.http.guard import add_headers, foreign_host, own_names
from pykbroker.http.listener_users import ListenerUsers, NotAuthenticated, handshake_of
from pykbroker.http.origin import is_own
from pykbroker.http.principal import PRINCIPAL, HttpPrincipal
from pykbroker.http.registry_faults import FaultCloses, befall
from pykbroker.http.rights import registry_rights
from pykbroker.http.server import WebServer
from pykbroker.process.life import BETWEEN, LifeEnded
from pykbroker.registry.errors import DENIED, STORE, RegistryError
from pykbroker.registry.registry import Registry
from pykbroker.registry.rest import apicurio
from pykbroker.registry.rest.call import Call, SchemaText
from pykbroker.registry.rest.table import RestRoute, find
from pykbroker.registry.schema import Version, compact
from pykbroker.registry.state import DEFAULT_COMPATIBILITY
from pykbroker.registry.subjects import topic_of
from pykbroker.registry.turns import in_turns
from pykbroker.registry.validation import SchemaValidation
from pykbroker.security.operations import READ
from pykbroker.security.resources import TOPIC
from pykbroker.steered.refusal import VerbRefused

if TYPE_CHECKING:
    from pykbroker.process.node import Node
    from pykbroker.steered.http_options import HttpOptions
    from pykbroker.steered.request_log import RequestLog

log = logging.getLogger(__name__)

_MOST_CONNECTIONS: Final = 256
#: A schema, escaped in JSON, with its references, metadata and rules.
_LARGEST_BODY: Final = 4 * 1024 * 1024
#: Bytes of large bodies in hand, and bodies that are worked on at once.
_MOST_BYTES: Final = 32 * 1024 * 1024
_SMALL_AT_ONCE: Final = 16
_LARGE_AT_ONCE: Final = 2
_KIND: Final = "application/vnd.schemaregistry.v1+json"
_KINDS: Final = (_KIND, "application/vnd.schemaregistry+json", "application/json")
_SEND_CREDENTIALS: Final = (
    "Unauthorized: send a user's name and password, or the token as a bearer's or as the password"
)
#: Characters of a path, and of a client's name, that are noted and that faults match.
_LONGEST_PATH: Final = 1000
#: Items of a list that are encoded in one turn of the loop.
_AT_ONCE: Final = 20
_PIECE: Final = 64 * 1024
#: What bodies are sent as; no page of another site can, without asking first.
_TAKEN: Final = (*_KINDS, "application/octet-stream")


class _Bodies:
    """The bytes of bodies that are awaited or worked on, which are bounded."""

    def __init__(self) -> None:
        self._bytes = 0

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """While a body of this size is in hand; a small one always has room. Raises RegistryError."""
        if size <= PARSED_HERE:
            yield
            return
        if self._bytes + min(size, _LARGEST_BODY) > _MOST_BYTES:
            raise RegistryError(503, "The registry works on as many large schemas as it has memory for: ask again")
        self._bytes += min(size, _LARGEST_BODY)
        try:
            yield
        finally:
            self._bytes -= min(size, _LARGEST_BODY)


class SchemaRegistrySide:
    """The registry of a node. It belongs to the node's loop. With a token, requests have it as a bearer's or as a password (any user); with a
    listener, its users and its TLS do, too. ``request_log`` notes requests, and is None while they are not recorded.
    """

    def __init__(self, node: Node, options: HttpOptions, request_log: Callable[[], RequestLog | None]) -> None:
        self._node = node
        self._request_log = request_log
        self._options = replace(options, names=options.names | own_names(node.config, socket.gethostname()))
        self._registry = Registry(node.lifetimes, options.compatibility or DEFAULT_COMPATIBILITY)
        self._users = None if options.listener is None else _users(node, options.listener)
        self._server: WebServer | None = None
        #: From here on, since clients are accepted before this is opened.
        self._validation = SchemaValidation(node, self._registry)
        #: What is parsed takes some times the memory of its text: so many bodies are worked on at once.
        self._small, self._large = asyncio.Semaphore(_SMALL_AT_ONCE), asyncio.Semaphore(_LARGE_AT_ONCE)
        self._bodies = _Bodies()

    async def open(self) -> None:
        """Listen. Raises StartFailed if the address cannot be bound."""
        app = web.Application(middlewares=[at_work])
        app.on_response_prepare.append(add_headers)
        app.router.add_route("*", r"/{path:[\s\S]*}", self._answer)
        self._server = WebServer(app, self._options.patience_s, _MOST_CONNECTIONS)
        tls = None if self._users is None else self._users.tls()
        address = await self._server.open(self._options.host, self._options.port, "--schema-registry HOST:PORT", tls)
        self._node.services["schema_registry"] = address if tls is None else f"https://{address}"
        log.info("Schema registry on %s://%s", "http" if tls is None else "https", address)

    async def close(self) -> None:
        """Close connections. Harmless if it was not opened."""
        server, self._server = self._server, None
        self._node.services.pop("schema_registry", None)
        self._validation.close()
        if server is not None:
            await server.close()
        self._registry.close()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        log_of_requests = self._request_log()
        if log_of_requests is None:
            return await self._answered(request)
        now = asyncio.get_running_loop().time
        began = now()
        noted = log_of_requests.note_registry(
            _method_and_path(request), _client(request), request.remote or "", self._now_ms()
        )
        answer = await self._answered(request)
        noted.status, noted.took_ms = answer.status, (now() - began) * 1000
        return answer

    def _now_ms(self) -> int:
        cluster = self._node.current
        return 0 if cluster is None else cluster.runtime.clock.now_ms()

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        try:
            found = await self._befallen(request, await self._authenticated(request))
        except FaultCloses:
            connection = request.protocol
            assert isinstance(connection, HttpConnection)
            connection.abandon()
            return _error(request, 500, STORE, "a fault closes the connection")
        except NotAuthenticated as refusal:
            answer = _error(request, 401, 401, _SEND_CREDENTIALS)
            answer.headers[hdrs.WWW_AUTHENTICATE] = f'{refusal.challenge} realm="pykbroker"'
            return answer
        except VerbRefused as refusal:
            code = DENIED if refusal.status == 403 else refusal.status
            return _error(request, refusal.status, code, str(refusal))
        except RegistryError as error:
            return _error(request, error.status, error.code, error.message)
        except Exception:
            log.exception("Unhandled error in a request to the schema registry")
            return _error(request, 500, STORE, "the registry failed to answer this: the broker's log says why")
        if found is None:
            return web.Response(status=204)
        if isinstance(found, list) and (len(found) > _AT_ONCE or (found and isinstance(found[0], Version))):
            return await _in_pieces(request, found)
        text = f"[{','.join(map(_text, found))}]" if isinstance(found, list) else _text(found)
        return web.Response(body=text.encode("utf-8", "replace"), content_type=_accepted(request))

    async def ask(self, path: str, query: Mapping[str, str], principal: HttpPrincipal) -> Any:
        """The answer to a GET of this process, in the values of JSON. Raises RegistryError and VerbRefused."""
        route, call = self._call("GET", path, query, principal)
        found = await route.handler(call)
        if isinstance(found, list):
            return [json.loads(_text(each)) async for each in in_turns(found, _AT_ONCE)]
        return json.loads(_text(found))

    def _call(
        self, method: str, path: str, query: Mapping[str, str], principal: HttpPrincipal
    ) -> tuple[RestRoute, Call]:
        """A request without its body, once who asks has the rights. Raises RegistryError and VerbRefused."""
        route, words, found = find(method, path, query)
        topic = topic_of(words.get("subject", ""))
        principal.check(
            registry_rights(method, route.path, of_all="subject" in words and not topic), {"subject": topic}
        )
        return route, Call(
            self._registry, words, found, may_read=lambda each: principal.may(READ, TOPIC, topic_of(each))
        )

    async def _befallen(self, request: web.Request, principal: HttpPrincipal) -> Any:
        """Carry a request out, with the fault that befalls it, if any."""
        injector = self._node.any_faults
        rule = (
            None
            if injector is None
            else injector.of_registry(_method_and_path(request), _client(request), principal.name)
        )
        if injector is None or rule is None:
            return await self._carried_out(request, principal)
        try:
            return await befall(self._node, injector, rule, lambda: self._carried_out(request, principal))
        except LifeEnded as error:
            raise FaultCloses from error

    async def _carried_out(self, request: web.Request, principal: HttpPrincipal) -> Any:
        path = apicurio.path_of(request.rel_url.raw_path, request.headers)
        route, call = self._call(request.method, path, request.query, principal)
        if request.method not in ("POST", "PUT"):
            return await route.handler(call)
        taken = (*_TAKEN, *apicurio.KINDS) if route.from_apicurio else _TAKEN
        if request.body_exists and request.content_type not in taken:
            raise RegistryError(415, f"HTTP 415 Unsupported Media Type: send {_KIND}")
        size = request.content_length
        with self._bodies.taken((_LARGEST_BODY if request.body_exists else 0) if size is None else size):
            raw = await read(request, _LARGEST_BODY)
            async with self._large if len(raw) > PARSED_HERE else self._small:
                if not route.from_apicurio:
                    body = await object_of(raw or b"{}")
                elif len(raw) > PARSED_HERE:
                    body = await asyncio.to_thread(apicurio.body_of, raw, request.headers, request.content_type)
                else:
                    body = apicurio.body_of(raw, request.headers, request.content_type)
                return await route.handler(replace(call, body=body))

    async def _authenticated(self, request: web.Request) -> HttpPrincipal:
        """Who asks. Raises NotAuthenticated for strangers, and RegistryError for other sites' pages."""
        token, said = self._options.token, request.headers.getall(hdrs.AUTHORIZATION, ())
        authorization = said[0] if len(said) == 1 else None
        if token is not None and authorization is not None and _is_token(authorization, token):
            return HttpPrincipal(self._node, request.remote or "")
        if self._users is None:
            if token is not None:
                raise NotAuthenticated("Basic")
            principal = PRINCIPAL
        else:
            if self._node.current is None:
                raise VerbRefused(503, BETWEEN)
            principal = await self._users.principal(authorization, handshake_of(request.transport))
        if authorization is None:
            self._check_origin(request)
        return HttpPrincipal(self._node, request.remote or "", principal)

    def _check_origin(self, request: web.Request) -> None:
        """Raises RegistryError for a request that a page of another site may have sent."""
        host = foreign_host(request, self._options)
        if host is not None:
            raise RegistryError(
                421, f"this registry does not know itself as {host!r}: ask it by an address, or with --http-name"
            )
        origins, hosts = request.headers.getall(hdrs.ORIGIN, ()), request.headers.getall(hdrs.HOST, ())
        if request.method not in ("GET", "HEAD") and not is_own(
            origins, hosts, request.headers.getall("Sec-Fetch-Site", ())
        ):
            raise RegistryError(403, "pages of other sites may change nothing here")


def _method_and_path(request: web.Request) -> str:
    return f"{request.method} {request.rel_url.raw_path[:_LONGEST_PATH]}"


def _client(request: web.Request) -> str:
    return request.headers.get(hdrs.USER_AGENT, "")[:_LONGEST_PATH]


def _users(node: Node, name: str) -> ListenerUsers:
    """The users of a listener, which has security: ``http_options.check`` has looked."""
    (listener,) = (each for each in node.config.listeners if each.name == name)
    admission = node.admission(name)
    assert admission is not None
    return ListenerUsers(listener, admission, node.config)


def _is_token(authorization: str, token: str) -> bool:
    scheme, _, given = authorization.partition(" ")
    secret = given.strip().encode("utf-8", "surrogateescape")
    if scheme.lower() == "basic":
        try:
            secret = base64.b64decode(secret, validate=True).partition(b":")[2]
        except binascii.Error:
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(secret, token.encode())


def _accepted(request: web.Request) -> str:
    """The type of the answer: the first of the registry's own that the client names."""
    said = request.headers.get(hdrs.ACCEPT, "")
    return next((each for each in _KINDS if each in said), _KIND)


async def _in_pieces(request: web.Request, found: list[Any]) -> web.StreamResponse:
    """Answer with a long list, with the broker's clients served between its pieces."""
    answer = web.StreamResponse(headers={hdrs.CONTENT_TYPE: _accepted(request)})
    await answer.prepare(request)
    piece: list[str] = []
    size = 0
    begun = "["
    for each in found:
        piece.append(_text(each))
        size += len(piece[-1])
        if len(piece) >= _AT_ONCE or size >= _PIECE:
            await answer.write(f"{begun}{','.join(piece)}".encode("utf-8", "replace"))
            await asyncio.sleep(0)
            piece, size, begun = [], 0, ","
    await answer.write(f"{begun if piece else ''}{','.join(piece)}]".encode("utf-8", "replace"))
    await answer.write_eof()
    return answer


def _text(found: Any) -> str:
    """An answer, or an item of one, as it is sent."""
    if isinstance(found, Version):
        return found.text()
    return found.text if isinstance(found, SchemaText) else compact(found)


def _error(request: web.Request, status: int, code: int, message: str) -> web.Response:
    said = message.encode("utf-8", "replace").decode()
    return web.json_response({"error_code": code, "message": said}, status=status, content_type=_accepted(request))
