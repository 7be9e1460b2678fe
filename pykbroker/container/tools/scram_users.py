"""Parses SCRAM credentials of Kafka's commands: ``SCRAM-SHA-256=[name=alice,password=secret,iterations=4096]``."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from typing import Final

from pykbroker.container.tools.running import ToolError
from pykbroker.controller.scram import MAX_ITERATIONS, Upsertion, credential_record
from pykbroker.security.sasl.scram import HASHES, MECHANISMS, MIN_ITERATIONS
from pykbroker.wire.internal.user_scram_credential_record import UserScramCredentialRecord

_FORM: Final = re.compile(r"(?P<mechanism>SCRAM-SHA-256|SCRAM-SHA-512)=\[(?P<words>.*)\]", re.DOTALL)
_WORD: Final = re.compile(r"(name|password|iterations|salt|saltedpassword)=(?:\"((?:\\.|[^\"\\])*)\"|([^,]*))(?:,|$)")


def credential(text: str) -> Upsertion:
    """Parse a credential, whose user is empty if another option has it. Raises ToolError, whose message never contains the password."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise ToolError("a SCRAM user is written SCRAM-SHA-256=[name=NAME,password=PASSWORD], or with SCRAM-SHA-512.")
    mechanism = next(number for number, name in MECHANISMS.items() if name == found["mechanism"])
    words = _words(found["words"])
    try:
        iterations = int(words.get("iterations", MIN_ITERATIONS))
        salt = base64.b64decode(words["salt"], validate=True) if "salt" in words else secrets.token_bytes(24)
    except ValueError as error:
        raise ToolError("iterations of a SCRAM user are a number, and its salt is base64.") from error
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        raise ToolError(f"iterations of a SCRAM user are between {MIN_ITERATIONS} and {MAX_ITERATIONS}.")
    if not words.get("password"):
        raise ToolError("a SCRAM user needs a password.")
    salted = hashlib.pbkdf2_hmac(HASHES[mechanism], words["password"].encode(), salt, iterations)
    return Upsertion(words.get("name", ""), mechanism, iterations, salt, salted)


def scram_user(text: str) -> UserScramCredentialRecord:
    """Return the metadata record of a credential. Raises ToolError."""
    made = credential(text)
    if not made.user:
        raise ToolError("a SCRAM user needs a name.")
    return credential_record(made)


def _words(text: str) -> dict[str, str]:
    words, at = {}, 0
    while at < len(text):
        found = _WORD.match(text, at)
        if found is None:
            raise ToolError("a SCRAM user is said by name, password, iterations and salt, with commas between.")
        words[found[1]] = found[3] if found[2] is None else re.sub(r"\\(.)", r"\1", found[2])
        at = found.end()
    return words
