"""Errors of commands: what happened, what to do about it, and a stable exit status.

Exit statuses: 0 done, 1 the broker refused or a fault was found, 2 the command line is wrong, 3 no broker could be
reached, 130 interrupted, 141 the reader of the output closed it (the last two as in shells).
"""

from __future__ import annotations

from pykbroker.runtime.escaping import escaped
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_UNREACHABLE = 3
EXIT_INTERRUPTED = 130
EXIT_OUTPUT_CLOSED = 141


class ClientError(Exception):
    """Ends the command: ``message`` goes to standard error, ``status`` is the exit status."""

    def __init__(self, message: str, status: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


class UsageError(ClientError):
    """Options are invalid, alone or together."""

    def __init__(self, message: str) -> None:
        super().__init__(message, EXIT_USAGE)


class Unreachable(ClientError):
    """A connection to a broker could not be opened, or broke."""

    def __init__(self, message: str) -> None:
        super().__init__(message, EXIT_UNREACHABLE)


_ADVICE = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "`pykbroker topics list` shows which topics there are.",
    ErrorCode.TOPIC_ALREADY_EXISTS: "Add --if-not-exists if that is fine.",
    ErrorCode.INVALID_REPLICATION_FACTOR: "The replication factor can be at most the number of brokers.",
    ErrorCode.NON_EMPTY_GROUP: "Stop its consumers first; `pykbroker groups describe` lists them.",
    ErrorCode.GROUP_ID_NOT_FOUND: "`pykbroker groups list` shows which groups there are.",
    ErrorCode.UNKNOWN_MEMBER_ID: "The group has active members; stop them first.",
    ErrorCode.MESSAGE_TOO_LARGE: "Raise the topic's max.message.bytes with `pykbroker topics alter`.",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "The user you connect as may not do this to the topic.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "The user you connect as may not do this to the group.",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "Sign in for it, and not by a token: --command-config FILE.",
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "The brokers have to have a delegation.token.secret.key.",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "It needs `pykbroker acls add --token-owner OWNER -o create-tokens`.",
    ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH: "Its owner and its renewers may do this.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "The user you connect as may not do this to the cluster.",
}


def refusal(what: str, error: KafkaError) -> str:
    """Return the error for a refused request about ``what`` (as "topic orders"), with what to do."""
    sentence = f"{escaped(what)}: {escaped(error.message).rstrip('.')} ({error.code.name})."
    advice = _ADVICE.get(error.code)
    return f"{sentence} {advice}" if advice else sentence


def raise_for(code: int, message: str | None = None) -> None:
    """Raise the KafkaError with this code; return if it is 0."""
    if code:
        raise KafkaError(error_code(code), message or None)
