"""The OpenAPI 3.1 description of the API, generated from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pykbroker import __version__
from pykbroker.http.api import schemas
from pykbroker.http.api.route import Route, Schema
from pykbroker.http.api.table import ROUTES

#: Responses of every route that changes something.
_CHANGING: Final = {
    400: "invalid parameters or body",
    403: "the authorizer denies it, or it was sent by a page of another site",
    408: "the body did not come in time",
    415: "wrong Content-Type, or a Content-Encoding",
}
_ALL: Final = {
    401: "the token is missing or wrong",
    403: "the authorizer denies it",
    421: "the Host header is not a known name of the broker",
    503: "it is stopping",
}


def description() -> dict[str, Any]:
    """Return the OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "pykbroker",
            "version": __version__,
            "description": "Controls and inspects a running broker from tests.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/api/v1"}],
        "paths": paths,
        "components": {
            "schemas": {"Problem": schemas.PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(route: Route) -> dict[str, Any]:
    refusals = {**_ALL, **(_CHANGING if route.changes else {}), **({400: _CHANGING[400]} if route.query else {})}
    if route.changes:
        refusals[413] = f"the body has more than {route.most // 1024} KiB"
    refusals |= route.refusals
    said: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.meaning,
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": _word(name)} for name in _names(route.path)),
            *(
                {"name": name, "in": "query", "description": what, "schema": _word(name)}
                for name, what in route.query.items()
            ),
        ],
        "responses": {
            "200": {"description": "Done.", "content": _content(route.gives, route.answer)},
            **{str(status): _refusal(why) for status, why in sorted(refusals.items())},
        },
    }
    if route.changes:
        schema = schemas.NOTHING if route.body is None else route.body
        said["requestBody"] = {
            "required": bool(route.takes or schema.get("required")),
            "content": _content(route.takes, schema),
        }
    return said


def _content(kinds: Mapping[str, Schema], otherwise: Schema | None) -> dict[str, Any]:
    """Return the content of a request or response by media type: JSON unless others are given."""
    of_each = kinds or {"application/json": otherwise or schemas.NOTHING}
    return {kind: {"schema": schema} for kind, schema in of_each.items()}


def _names(path: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", path)


def _word(name: str) -> dict[str, Any]:
    return schemas.WHOLE if name in ("number", "id", "limit") else schemas.TEXT


def _refusal(why: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": why, "content": {"application/problem+json": {"schema": schema}}}
