"""Refusals of the registry: HTTP status, the registry's code, and the message. Source: the error codes of its description."""

from __future__ import annotations

from typing import Final

from pykbroker.registry.schema import abbreviated

DENIED: Final = 40301
SUBJECT_NOT_FOUND: Final = 40401
VERSION_NOT_FOUND: Final = 40402
SCHEMA_NOT_FOUND: Final = 40403
NO_SUBJECT_CONFIG: Final = 40408
NO_SUBJECT_MODE: Final = 40409
INCOMPATIBLE: Final = 409
INVALID_SCHEMA: Final = 42201
INVALID_VERSION: Final = 42202
INVALID_LEVEL: Final = 42203
INVALID_MODE: Final = 42204
NOT_PERMITTED: Final = 42205
REFERENCE_EXISTS: Final = 42206
INVALID_SUBJECT: Final = 42208
TOO_LARGE: Final = 42209
CONTEXT_NOT_EMPTY: Final = 42211
STORE: Final = 50001
UNKNOWN_LEADER: Final = 50004


class RegistryError(Exception):
    """A request is refused. ``code`` is the registry's own: the status alone, or five digits that begin with it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.code if self.code < 1000 else self.code // 100


def denied(what: str) -> RegistryError:
    """Who asks may not read this."""
    return RegistryError(DENIED, f"User is denied operation Read on {abbreviated(what)}")


def subject_not_found(subject: str) -> RegistryError:
    return RegistryError(SUBJECT_NOT_FOUND, f"Subject '{abbreviated(subject)}' not found.")


def version_not_found(version: int) -> RegistryError:
    return RegistryError(VERSION_NOT_FOUND, f"Version {version} not found.")


def schema_not_found(which: object = None) -> RegistryError:
    return RegistryError(SCHEMA_NOT_FOUND, "Schema not found" if which is None else f"Schema {which} not found")


def invalid_schema(why: str) -> RegistryError:
    return RegistryError(INVALID_SCHEMA, why)


def invalid_version(text: str) -> RegistryError:
    """No version has this number."""
    return RegistryError(
        INVALID_VERSION,
        f"The specified version '{abbreviated(text)}' is not a valid version id. Allowed values are between [1, 2^31-1] and the string \"latest\"",
    )


def not_permitted(why: str) -> RegistryError:
    return RegistryError(NOT_PERMITTED, why)


def reference_exists(subject: str, version: int) -> RegistryError:
    """A version that others refer to cannot be deleted."""
    return RegistryError(
        REFERENCE_EXISTS,
        f"One or more references exist to the schema {{magic=1,keytype=SCHEMA,subject={abbreviated(subject)},version={version}}}.",
    )
