"""All paths of the registry, in one table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from pykbroker.registry.errors import RegistryError
from pykbroker.registry.rest import compatibility, others, schemas, settings, subjects
from pykbroker.registry.rest.call import Call

Handler = Callable[[Call], Awaitable[Any]]


class Route(NamedTuple):
    """A method and a path, whose parts in braces are words."""

    method: str
    path: str
    handler: Handler


ROUTES: Final = (
    Route("GET", "/", others.root),
    Route("GET", "/schemas", schemas.listed),
    Route("GET", "/schemas/types", schemas.types),
    Route("GET", "/schemas/ids/{id}", schemas.by_id),
    Route("GET", "/schemas/ids/{id}/schema", schemas.text),
    Route("GET", "/schemas/ids/{id}/subjects", schemas.subjects),
    Route("GET", "/schemas/ids/{id}/versions", schemas.versions),
    Route("GET", "/schemas/guids/{guid}", schemas.by_guid),
    Route("GET", "/schemas/guids/{guid}/ids", schemas.ids),
    Route("GET", "/subjects", subjects.listed),
    Route("POST", "/subjects/{subject}", subjects.look_up),
    Route("DELETE", "/subjects/{subject}", subjects.delete),
    Route("GET", "/subjects/{subject}/metadata", subjects.with_metadata),
    Route("GET", "/subjects/{subject}/versions", subjects.versions),
    Route("POST", "/subjects/{subject}/versions", subjects.register),
    Route("GET", "/subjects/{subject}/versions/{version}", subjects.version),
    Route("DELETE", "/subjects/{subject}/versions/{version}", subjects.delete_version),
    Route("GET", "/subjects/{subject}/versions/{version}/schema", subjects.version_text),
    Route("GET", "/subjects/{subject}/versions/{version}/referencedby", subjects.referenced_by),
    Route("POST", "/compatibility/subjects/{subject}/versions", compatibility.with_all),
    Route("POST", "/compatibility/subjects/{subject}/versions/{version}", compatibility.with_version),
    Route("GET", "/config", settings.config),
    Route("PUT", "/config", settings.set_config),
    Route("DELETE", "/config", settings.delete_config),
    Route("GET", "/config/{subject}", settings.config),
    Route("PUT", "/config/{subject}", settings.set_config),
    Route("DELETE", "/config/{subject}", settings.delete_config),
    Route("GET", "/mode", settings.mode),
    Route("PUT", "/mode", settings.set_mode),
    Route("DELETE", "/mode", settings.delete_mode),
    Route("GET", "/mode/{subject}", settings.mode),
    Route("PUT", "/mode/{subject}", settings.set_mode),
    Route("DELETE", "/mode/{subject}", settings.delete_mode),
    Route("GET", "/contexts", others.contexts),
    Route("DELETE", "/contexts/{context}", others.delete_context),
    Route("GET", "/v1/metadata/id", others.cluster),
    Route("GET", "/v1/metadata/version", others.version),
)


def find(method: str, raw_path: str, query: Mapping[str, str]) -> tuple[Handler, dict[str, str], dict[str, str]]:
    """The handler of a request, the words of its path, and its query. Raises RegistryError.

    ``/contexts/CONTEXT/...`` is the rest of the path, in a context.
    """
    steps = [unquote(each) for each in raw_path.strip("/").split("/")] if raw_path.strip("/") else []
    parameters = dict(query)
    context = None
    if len(steps) > 2 and steps[0] == "contexts":
        context, steps = steps[1].strip(":"), steps[2:]
    methods = []
    for route in ROUTES:
        words = _words(route, steps)
        if words is None:
            continue
        if route.method == method:
            return route.handler, *_within(context, route, words, parameters)
        methods.append(route.method)
    raise RegistryError(405, "HTTP 405 Method Not Allowed") if methods else RegistryError(404, "HTTP 404 Not Found")


def _words(route: Route, steps: list[str]) -> dict[str, str] | None:
    parts = [each for each in route.path.split("/") if each]
    if len(parts) != len(steps):
        return None
    words = {}
    for part, step in zip(parts, steps, strict=True):
        if part.startswith("{"):
            words[part[1:-1]] = step
        elif part != step:
            return None
    return words


def _within(
    context: str | None, route: Route, words: dict[str, str], query: dict[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The words and the query in a context: what names a subject is qualified."""
    if context is None:
        return words, query
    if "subject" in words:
        words = {**words, "subject": f":{context}:{words['subject']}"}
    elif route.path in ("/subjects", "/schemas"):
        query = {**query, "subjectPrefix": f":{context}:{query.get('subjectPrefix', '')}"}
    elif route.path in ("/config", "/mode"):
        words = {"subject": f":{context}:"}
    else:
        query = {**query, "subject": f":{context}:{query.get('subject', '')}"}
    return words, query
