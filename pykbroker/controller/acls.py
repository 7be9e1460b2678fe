"""Creation and deletion of access lists (KIP-140): validation of entries and filters, and the records of the change.

Rules and messages: AclApis and AclControlManager of Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.features import METADATA_VERSION
from pykbroker.metadata.ids import random_id
from pykbroker.metadata.image import MetadataImage
from pykbroker.security import resources
from pykbroker.security.acl import ALLOW, DENY, PERMISSION_NAMES, Acl, AclFilter, name_of
from pykbroker.security.host_patterns import RANGES_SINCE, HostPatternError, check_range
from pykbroker.security.operations import OPERATION_NAMES
from pykbroker.security.resources import ANY, CLUSTER, CLUSTER_NAME, LITERAL, PATTERN_NAMES, PREFIXED, TYPE_NAMES
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.access_control_entry_record import AccessControlEntryRecord
from pykbroker.wire.internal.remove_access_control_entry_record import RemoveAccessControlEntryRecord


class AclPlanner:
    """Plans changes of an image's access lists. It follows the image with an index, so that no change scans all entries."""

    def __init__(self, image: MetadataImage, rng: Random) -> None:
        self._image = image
        self._rng = rng
        self._ids = {Acl.of(record): acl_id for acl_id, record in image.acls.items()}

    def follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """A subscriber of the metadata."""
        self._image = image
        for record, is_there in delta.acls:
            if is_there:
                self._ids[Acl.of(record)] = record.id
            else:
                self._ids.pop(Acl.of(record), None)

    def create(self, acls: Sequence[Acl]) -> tuple[list[AccessControlEntryRecord], list[KafkaError | None]]:
        """The records of new entries, and the error of each entry, or None. Creating an existing one is no error."""
        new: dict[Acl, AccessControlEntryRecord] = {}
        errors: list[KafkaError | None] = []
        for acl in acls:
            try:
                _check(acl)
                _check_host(acl.host, self._image.features.get(METADATA_VERSION, 0))
            except KafkaError as error:
                errors.append(error.kept())
                continue
            errors.append(None)
            if acl not in self._ids and acl not in new:
                new[acl] = AccessControlEntryRecord(random_id(self._rng), *acl)
        return list(new.values()), errors

    def delete(
        self, filters: Sequence[AclFilter]
    ) -> tuple[list[RemoveAccessControlEntryRecord], list[list[Acl] | KafkaError]]:
        """The records that remove the entries that any filter matches; and for each filter its matches or its error."""
        gone: dict[bytes, RemoveAccessControlEntryRecord] = {}
        results: list[list[Acl] | KafkaError] = []
        for each in filters:
            try:
                check_filter(each)
            except KafkaError as error:
                results.append(error.kept())
                continue
            matching = self._matching(each)
            results.append(matching)
            gone.update((self._ids[acl], RemoveAccessControlEntryRecord(id=self._ids[acl])) for acl in matching)
        return list(gone.values()), results

    def _matching(self, wanted: AclFilter) -> list[Acl]:
        """The entries that a filter matches; a filter of one entry is looked up."""
        only = wanted.only
        if only is not None:
            return [only] if only in self._ids else []
        return [acl for acl in self._ids if wanted.matches(acl)]


def _check(acl: Acl) -> None:
    """Raises KafkaError INVALID_REQUEST for an invalid entry."""
    if acl.resource_type == CLUSTER and acl.resource_name != CLUSTER_NAME:
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.resource_name:
        raise _invalid("Invalid empty resource name")
    if name_of(acl.resource_type, TYPE_NAMES) in ("UNKNOWN", "ANY"):
        raise _invalid(f"Invalid resourceType {name_of(acl.resource_type, TYPE_NAMES)}")
    if acl.pattern_type not in (LITERAL, PREFIXED):
        raise _invalid(f"Invalid patternType {name_of(acl.pattern_type, PATTERN_NAMES)}")
    if name_of(acl.operation, OPERATION_NAMES) in ("UNKNOWN", "ANY"):
        raise _invalid(f"Invalid operation {name_of(acl.operation, OPERATION_NAMES)}")
    if acl.permission_type not in (DENY, ALLOW):
        raise _invalid(f"Invalid permissionType {name_of(acl.permission_type, PERMISSION_NAMES)}")
    if ":" not in acl.principal:
        raise _invalid(
            f"Could not parse principal from `{acl.principal}` (no colon is present separating the principal type from "
            "the principal name)"
        )


def _check_host(host: str, metadata_version: int) -> None:
    """Raises KafkaError INVALID_REQUEST for what is no host, UNSUPPORTED_VERSION for a range of addresses before 4.4."""
    if not host:
        raise _invalid("Host pattern cannot be null or empty")
    if "/" not in host:
        return
    if metadata_version < RANGES_SINCE:
        text = "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher."
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, text)
    try:
        check_range(host)
    except HostPatternError as error:
        raise _invalid(f"Invalid CIDR notation '{host}': {error}") from error


def check_filter(requested: AclFilter) -> None:
    """Raises KafkaError INVALID_REQUEST for unknown codes."""
    kinds = (name_of(requested.resource_type, TYPE_NAMES), name_of(requested.pattern_type, PATTERN_NAMES))
    if TYPE_NAMES[resources.UNKNOWN] in kinds:
        raise _invalid("Unknown patternFilter.")
    kinds = (name_of(requested.operation, OPERATION_NAMES), name_of(requested.permission_type, PERMISSION_NAMES))
    if OPERATION_NAMES[resources.UNKNOWN] in kinds:
        raise _invalid("Unknown entryFilter.")


def says_any(acl: Acl) -> bool:
    """Whether an entry has a value that only filters may have; Kafka then fails before it validates the others."""
    return (
        acl.resource_type == ANY
        or acl.pattern_type in (ANY, resources.MATCH)
        or ANY in (acl.operation, acl.permission_type)
    )


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
