"""The table of rights for the documentation: ``python -m pykbroker.http.documented``."""

from __future__ import annotations

from pykbroker.http.api.table import ROUTES
from pykbroker.http.rights import ANY, API, BY_KIND, CONSOLE, EACH, Right
from pykbroker.security.operations import OPERATION_NAMES
from pykbroker.security.resources import CLUSTER, TYPE_TITLES


def table() -> str:
    """Return the table in Markdown: the acts of each right, by their paths."""
    acts: dict[tuple[Right, ...], list[str]] = {}
    for route in ROUTES:
        acts.setdefault(API[route.name], []).append(f"`{route.method} {route.path}`")
    for path, rights in CONSOLE.items():
        acts.setdefault(rights, []).append(f"`{path}`")
    rows = [f"| {', and '.join(map(_described, rights))} | {', '.join(paths)} |" for rights, paths in acts.items()]
    return "\n".join(["| rights | acts |", "|---|---|", *rows])


def _described(right: Right) -> str:
    operation = OPERATION_NAMES[right.operation]
    if right.resource_type == BY_KIND:
        return f"{operation} on the Topic, the Group or, for a broker, the Cluster"
    what = TYPE_TITLES[right.resource_type]
    if right.resource_type == CLUSTER:
        return f"{operation} on the {what}"
    which = {EACH: "each", ANY: "any"}.get(right.name, "the")
    return f"{operation} on {which} {what}" + (" or on the Cluster" if right.or_cluster else "")


if __name__ == "__main__":
    print(table())  # noqa: T201
