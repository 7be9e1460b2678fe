"""A client of Confluent-style schema registries: schemas by id, with the schemas that they reference.

A registry that restarts, is overloaded or is slow is asked again a few times. Only a registry's own answer that it has no such schema
counts as that: a record is never quarantined because of a fault that passes, or of a proxy in between.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from ssl import SSLCertVerificationError
from typing import Any

from pykbroker.lake.errors import LakeError
from pykbroker.registry_site import HttpAnswer, RegistrySite, quoted

_TIMEOUT_S = 30.0
_OK, _NOT_FOUND = 200, 404
_NONE_SUCH = (40401, 40402, 40403)
"""A registry's codes for a subject, a version and a schema that it does not have. Another 404 comes from a wrong URL or from a proxy."""
_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (408, 425, 429, 500, 502, 503, 504)
_WAITS_S = (0.5, 1.0, 2.0, 4.0, 8.0)
"""The pauses before a request is repeated."""
_LONGEST_WAIT_S = 60.0
_SHOWN = 200
_MOST_BYTES = 64 * 1024 * 1024
DEEPEST = 50
"""References of references."""
_MOST_REFERENCES = 2000


def collect_references(
    schema: Mapping[str, Any],
    into: dict[str, str],
    version_of: Callable[[str, int], Mapping[str, Any]],
    depth: int = DEEPEST,
) -> None:
    """Note the texts of a schema's references by name, each after those that it refers to itself. ``version_of`` gives a subject's version
    as a registry answers it. Raises LakeError if they are more than ``depth`` deep, as those of a circle are, or too many.
    """
    if depth < 0:
        raise LakeError(f"A schema of the registry has references that are more than {DEEPEST} deep.")
    for each in schema.get("references") or ():
        if each["name"] not in into:
            if len(into) >= _MOST_REFERENCES:
                raise LakeError(f"A schema of the registry has more than {_MOST_REFERENCES} references.")
            found = version_of(each["subject"], each["version"])
            collect_references(found, into, version_of, depth - 1)
            into[each["name"]] = found["schema"]


class _Passing(Exception):
    """The registry may answer if it is asked again, after ``wait_s`` if it says so."""

    def __init__(self, said: str, wait_s: float = 0.0) -> None:
        super().__init__(said)
        self.wait_s = wait_s


class SchemaRegistry:
    """A registry, by its URL, which may include a user and a password. Raises LakeError if it is no URL.

    ``timeout_s`` is the longest time that one answer may take.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = _TIMEOUT_S,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            self._site = RegistrySite(url, timeout_s, _MOST_BYTES)
        except ValueError as error:
            raise LakeError(str(error)) from None
        self.url, self._pause = self._site.url, pause

    def schema(self, number: int) -> dict[str, Any] | None:
        """``{"type": "AVRO", "text": ..., "references": {name: text}}``; None if the registry has no such schema.

        A reference precedes those that need it. Raises LakeError if the registry does not answer, or lacks a reference.
        """
        found = self._get(f"schemas/ids/{number}")
        if found is None:
            return None
        references: dict[str, str] = {}
        collect_references(found, references, self._version)
        return {"type": found.get("schemaType", "AVRO"), "text": found["schema"], "references": references}

    def _version(self, subject: str, version: int) -> dict[str, Any]:
        path = f"subjects/{quoted(subject)}/versions/{version}"
        found = self._get(path) or self._get(f"{path}?deleted=true")  # deleted ones are kept for those that need them
        if found is None:
            raise LakeError(
                f"The registry {self.url} has a schema that references {subject}, version {version}, but not this version."
            )
        return found

    def _get(self, path: str) -> dict[str, Any] | None:
        """The registry's answer; None if it has no such schema. Asks again as long as the fault may pass."""
        for wait_s in _WAITS_S:
            try:
                return self._fetched(path)
            except _Passing as passing:
                self._pause(min(max(wait_s, passing.wait_s), _LONGEST_WAIT_S))
        try:
            return self._fetched(path)
        except _Passing as passing:
            raise LakeError(
                f"{passing} It was asked for {path} {len(_WAITS_S) + 1} times. Run this again when the registry answers: no record "
                "was quarantined because of this, and what was decoded stays."
            ) from None

    def _fetched(self, path: str) -> dict[str, Any] | None:
        """One request. Raises _Passing if it may be repeated."""
        try:
            answer = self._site.ask(f"/{path}")
        except OSError as error:
            said = f"The registry {self.url} did not answer: {error}."
            if isinstance(error, SSLCertVerificationError):
                raise LakeError(said) from None
            raise _Passing(said) from None
        if answer.status != _OK:
            self._refused(path, answer)
            return None
        if len(answer.content) > _MOST_BYTES:
            raise LakeError(f"The registry {self.url} answered {path} with more than {_MOST_BYTES} bytes.")
        return self._schema_in(path, answer.content)

    def _refused(self, path: str, answer: HttpAnswer) -> None:
        """Returns if the registry has no such schema. Raises _Passing or LakeError for any other answer."""
        content, code = answer.content, answer.status
        if code == _NOT_FOUND and _code(content) in _NONE_SUCH:
            return
        said = f"The registry {self.url} answered {code} to {path}: {content[:_SHOWN].decode(errors='replace').strip()}"
        if code in _REDIRECTS:
            raise LakeError(
                f"The registry {self.url} sends on to {answer.headers.get('Location')!r}: give the URL where it is."
            )
        if code in _PASSING:
            after = answer.headers.get("Retry-After", "")
            raise _Passing(f"{said.rstrip('.')}.", float(after) if after.isdecimal() else 0.0)
        if code == _NOT_FOUND:
            said += " (no answer of a schema registry, which would name the error 40403: look whether the URL is the registry's)"
        raise LakeError(said)

    def _schema_in(self, path: str, answer: bytes) -> dict[str, Any]:
        """Schemas are stored in the lake and never fetched again, so anything else must end the job."""
        try:
            found: dict[str, Any] = json.loads(answer)
            if is_schema(found):
                return found
        except (ValueError, LookupError, TypeError, AttributeError):
            pass
        said = answer[:_SHOWN].decode(errors="replace").strip()
        raise LakeError(f"The registry {self.url} answered {path} with something that is no schema: {said!r}") from None


def _code(content: bytes) -> Any:
    """The registry's own code of an error; None if it is not a registry's answer."""
    try:
        return json.loads(content)["error_code"]
    except (ValueError, LookupError, TypeError):
        return None


def is_schema(found: dict[str, Any]) -> bool:
    """Whether this is an answer of a registry. Raises one of Python's lookup errors if it has another form."""
    texts = [found["schema"], found.get("schemaType", "")]
    texts += [text for each in found.get("references", ()) for text in (each["name"], each["subject"])]
    numbers = [each["version"] for each in found.get("references", ())]
    return all(isinstance(text, str) for text in texts) and all(isinstance(number, int) for number in numbers)
