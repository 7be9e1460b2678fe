"""SCRAM credentials (KIP-554) in the metadata log: derived keys, never passwords.

Rules and messages: ScramControlManager and ScramImage of Kafka 4.4.0; the derivation of the keys: RFC 5802.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.security.sasl.scram import HASHES, MIN_ITERATIONS, stored_and_server_key
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from pykbroker.wire.internal.user_scram_credential_record import UserScramCredentialRecord

MAX_ITERATIONS = 16384


@dataclass(slots=True)
class Deletion:
    """A credential to delete."""

    user: str
    mechanism: int


@dataclass(slots=True)
class Upsertion:
    """A credential to set. The client computes the salted password (PBKDF2)."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


def plan_credentials(
    image: MetadataImage, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]
) -> tuple[list[MetadataRecord], dict[str, KafkaError | None]]:
    """The records of the changes, and the error of each user, or None. A user may be named only once."""
    records: dict[str, MetadataRecord] = {}
    results: dict[str, KafkaError | None] = {}
    changes: list[Deletion | Upsertion] = [*deletions, *upsertions]
    for change in changes:
        if results.get(change.user) is not None:
            continue
        try:
            if change.user in records:
                del records[change.user]
                raise KafkaError(
                    ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
                )
            records[change.user] = _removal(image, change) if isinstance(change, Deletion) else _credential(change)
        except KafkaError as error:
            results[change.user] = error.kept()
        else:
            results[change.user] = None
    return list(records.values()), results


def describe_credentials(
    image: MetadataImage, users: Iterable[str]
) -> dict[str, list[UserScramCredentialRecord] | KafkaError]:
    """The credentials of each requested user, or its error; of all users if none is named."""
    known: dict[str, list[UserScramCredentialRecord] | KafkaError] = {}
    for (user, _), credential in image.scram.items():
        found = known.setdefault(user, [])
        assert isinstance(found, list)
        found.append(credential)
    asked = list(users)
    if not asked:
        return known
    described: dict[str, list[UserScramCredentialRecord] | KafkaError] = {}
    for user in asked:
        if user in described:
            described[user] = KafkaError(
                ErrorCode.DUPLICATE_RESOURCE,
                f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}",
            )
        else:
            described[user] = known.get(user) or KafkaError(
                ErrorCode.RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {user}"
            )
    return described


def _removal(image: MetadataImage, deletion: Deletion) -> RemoveUserScramCredentialRecord:
    _check(deletion.user, deletion.mechanism)
    if (deletion.user, deletion.mechanism) not in image.scram:
        raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    return RemoveUserScramCredentialRecord(name=deletion.user, mechanism=deletion.mechanism)


def _credential(upsertion: Upsertion) -> UserScramCredentialRecord:
    _check(upsertion.user, upsertion.mechanism)
    if upsertion.iterations < MIN_ITERATIONS:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if upsertion.iterations > MAX_ITERATIONS:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not upsertion.salted_password:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)  # Kafka's answer when Java refuses an empty key
    return credential_record(upsertion)


def credential_record(upsertion: Upsertion) -> UserScramCredentialRecord:
    """What the metadata log keeps of a credential."""
    stored_key, server_key = stored_and_server_key(upsertion.salted_password, HASHES[upsertion.mechanism])
    return UserScramCredentialRecord(
        name=upsertion.user,
        mechanism=upsertion.mechanism,
        salt=upsertion.salt,
        stored_key=stored_key,
        server_key=server_key,
        iterations=upsertion.iterations,
    )


def _check(user: str, mechanism: int) -> None:
    if not user:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism not in HASHES:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
