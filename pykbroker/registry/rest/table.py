"""All paths of the registry, in one table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from pykbroker.registry.errors import RegistryError
from pykbroker.registry.rest import apicurio, compatibility, others, schemas, settings, subjects
from pykbroker.registry.rest.call import Call

Handler = Callable[[Call], Awaitable[Any]]


class RestRoute(NamedTuple):
    """A method and a path, whose parts in braces are words; and whether bodies are as Apicurio's serializers send them."""

    method: str
    path: str
    handler: Handler
    from_apicurio: bool = False


ROUTES: Final = (
    RestRoute("GET", "/", others.root),
    RestRoute("POST", "/", others.root),
    RestRoute("GET", "/schemas", schemas.listed),
    RestRoute("GET", "/schemas/types", schemas.types),
    RestRoute("GET", "/schemas/ids/{id}", schemas.by_id),
    RestRoute("GET", "/schemas/ids/{id}/schema", schemas.text),
    RestRoute("GET", "/schemas/ids/{id}/subjects", schemas.subjects),
    RestRoute("GET", "/schemas/ids/{id}/versions", schemas.versions),
    RestRoute("GET", "/schemas/guids/{guid}", schemas.by_guid),
    RestRoute("GET", "/schemas/guids/{guid}/ids", schemas.ids),
    RestRoute("GET", "/subjects", subjects.listed),
    RestRoute("POST", "/subjects/{subject}", subjects.look_up),
    RestRoute("DELETE", "/subjects/{subject}", subjects.delete),
    RestRoute("GET", "/subjects/{subject}/metadata", subjects.with_metadata),
    RestRoute("GET", "/subjects/{subject}/versions", subjects.versions),
    RestRoute("POST", "/subjects/{subject}/versions", subjects.register),
    RestRoute("GET", "/subjects/{subject}/versions/{version}", subjects.version),
    RestRoute("DELETE", "/subjects/{subject}/versions/{version}", subjects.delete_version),
    RestRoute("GET", "/subjects/{subject}/versions/{version}/schema", subjects.version_text),
    RestRoute("GET", "/subjects/{subject}/versions/{version}/referencedby", subjects.referenced_by),
    RestRoute("POST", "/compatibility/subjects/{subject}/versions", compatibility.with_all),
    RestRoute("POST", "/compatibility/subjects/{subject}/versions/{version}", compatibility.with_version),
    RestRoute("GET", "/config", settings.config),
    RestRoute("PUT", "/config", settings.set_config),
    RestRoute("DELETE", "/config", settings.delete_config),
    RestRoute("GET", "/config/{subject}", settings.config),
    RestRoute("PUT", "/config/{subject}", settings.set_config),
    RestRoute("DELETE", "/config/{subject}", settings.delete_config),
    RestRoute("GET", "/mode", settings.mode),
    RestRoute("PUT", "/mode", settings.set_mode),
    RestRoute("DELETE", "/mode", settings.delete_mode),
    RestRoute("GET", "/mode/{subject}", settings.mode),
    RestRoute("PUT", "/mode/{subject}", settings.set_mode),
    RestRoute("DELETE", "/mode/{subject}", settings.delete_mode),
    RestRoute("GET", "/contexts", others.contexts),
    RestRoute("DELETE", "/contexts/{context}", others.delete_context),
    RestRoute("GET", "/v1/metadata/id", others.cluster),
    RestRoute("GET", "/v1/metadata/version", others.version),
    RestRoute("POST", f"{apicurio.CREATE}/{{subject}}", apicurio.register, from_apicurio=True),
    RestRoute("POST", f"{apicurio.CREATE}/{{subject}}/meta", apicurio.look_up, from_apicurio=True),
    RestRoute("GET", f"{apicurio.CREATE}/{{subject}}/meta", apicurio.version),
    RestRoute("GET", f"{apicurio.CREATE}/{{subject}}/versions/{{version}}/meta", apicurio.version),
    RestRoute("GET", f"{apicurio.API}/ids/globalIds/{{id}}", schemas.text),
    RestRoute("GET", f"{apicurio.API}/ids/globalIds/{{id}}/references", apicurio.references),
    RestRoute("GET", f"{apicurio.API}/ids/contentIds/{{id}}", schemas.text),
    RestRoute("GET", f"{apicurio.API}/ids/contentIds/{{id}}/references", apicurio.references),
)


def find(method: str, raw_path: str, query: Mapping[str, str]) -> tuple[RestRoute, dict[str, str], dict[str, str]]:
    """The route of a request, the words of its path, and its query. Raises RegistryError.

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
            return route, *_within(context, route, words, parameters)
        methods.append(route.method)
    raise RegistryError(405, "HTTP 405 Method Not Allowed") if methods else RegistryError(404, "HTTP 404 Not Found")


def _words(route: RestRoute, steps: list[str]) -> dict[str, str] | None:
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
    context: str | None, route: RestRoute, words: dict[str, str], query: dict[str, str]
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
