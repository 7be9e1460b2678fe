"""A client of Confluent-style schema registries: schemas by id, with the schemas that they reference."""

from __future__ import annotations

import base64
import json
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from pykbroker.lake.trouble import LakeError

_TIMEOUT_S = 30.0
_NOT_FOUND = 404
_SHOWN = 200


class Registry:
    """A registry, by its URL, which may include a user and a password. Raises LakeError if it is no URL."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise LakeError(f"{url!r} is no URL of a schema registry; write it as http://127.0.0.1:8081.")
        host = parts.netloc.rpartition("@")[2]
        self.url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json"}
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            self._headers["Authorization"] = f"Basic {base64.b64encode(user).decode()}"

    def schema(self, number: int) -> dict[str, Any] | None:
        """``{"type": "AVRO", "text": ..., "references": {name: text}}``; None if the registry has no such schema.

        A reference precedes those that need it. Raises LakeError if the registry does not answer, or lacks a reference.
        """
        found = self._get(f"schemas/ids/{number}")
        if found is None:
            return None
        references: dict[str, str] = {}
        self._collect(found, references)
        return {"type": found.get("schemaType", "AVRO"), "text": found["schema"], "references": references}

    def _collect(self, schema: dict[str, Any], into: dict[str, str]) -> None:
        for each in schema.get("references", ()):
            if each["name"] not in into:
                found = self._get(f"subjects/{quote(each['subject'], safe='')}/versions/{each['version']}")
                if found is None:
                    raise LakeError(
                        f"The registry {self.url} has a schema that references {each['subject']}, version {each['version']}, but not this version."
                    )
                self._collect(found, into)
                into[each["name"]] = found["schema"]

    def _get(self, path: str) -> dict[str, Any] | None:
        request = Request(f"{self.url}/{path}", headers=self._headers)  # noqa: S310 - checked above
        try:
            with urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
                return self._schema_in(path, answer.read())
        except HTTPError as error:
            with error:
                if error.code == _NOT_FOUND:
                    return None
                said = error.read(500).decode(errors="replace")
            raise LakeError(f"The registry {self.url} answered {error.code} to {path}: {said}") from None
        except (URLError, OSError, HTTPException) as error:
            raise LakeError(f"The registry {self.url} did not answer: {error}.") from None

    def _schema_in(self, path: str, answer: bytes) -> dict[str, Any]:
        """Schemas are stored in the lake and never fetched again, so anything else must end the job."""
        try:
            found: dict[str, Any] = json.loads(answer)
            if _is_schema(found):
                return found
        except (ValueError, LookupError, TypeError, AttributeError):
            pass
        said = answer[:_SHOWN].decode(errors="replace").strip()
        raise LakeError(f"The registry {self.url} answered {path} with something that is no schema: {said!r}") from None


def _is_schema(found: dict[str, Any]) -> bool:
    """Whether this is an answer of a registry. Raises one of Python's lookup errors if it has another form."""
    texts = [found["schema"], found.get("schemaType", "")]
    texts += [text for each in found.get("references", ()) for text in (each["name"], each["subject"])]
    numbers = [each["version"] for each in found.get("references", ())]
    return all(isinstance(text, str) for text in texts) and all(isinstance(number, int) for number in numbers)
