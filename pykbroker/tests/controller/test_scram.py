"""SCRAM credentials: kept, described without their secrets, forgotten."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from pykbroker.controller.scram import Deletion, Upsertion, describe_credentials, plan_credentials
from pykbroker.metadata.image_records import image_records
from pykbroker.tests.kit.metadata import make_controller, records_in, replayed
from pykbroker.wire.errors import ErrorCode, KafkaError


@pytest.fixture
def controller():
    return make_controller()


def upsertion(user="alice", mechanism=1, iterations=4096, salted_password=b"salted"):
    return Upsertion(user, mechanism, iterations, b"salt", salted_password)


def change(controller, *changes):
    """What is wrong for each user, by code, or None."""
    records, results = plan_credentials(
        controller.image,
        [c for c in changes if isinstance(c, Deletion)],
        [c for c in changes if isinstance(c, Upsertion)],
    )
    controller.commit(records)
    return {user: error and error.code for user, error in results.items()}


def described(controller, *users):
    return {
        user: found.code if isinstance(found, KafkaError) else {c.mechanism: c.iterations for c in found}
        for user, found in describe_credentials(controller.image, users).items()
    }


def test_kept_changed_forgotten(controller):
    assert change(controller, upsertion(), upsertion("bob", 2, 8192)) == {"alice": None, "bob": None}
    assert change(controller, upsertion(mechanism=2)) == {"alice": None}
    assert change(controller, upsertion(iterations=5000)) == {"alice": None}
    assert described(controller) == {"alice": {1: 5000, 2: 4096}, "bob": {2: 8192}}
    assert replayed(records_in(controller.log)).scram == controller.image.scram
    assert replayed(list(image_records(controller.image))).scram == controller.image.scram
    assert change(controller, Deletion("alice", 1), Deletion("bob", 2)) == {"alice": None, "bob": None}
    assert described(controller) == {"alice": {2: 4096}}
    assert replayed(records_in(controller.log)).scram == controller.image.scram


def test_the_keys_are_those_of_rfc_7677(controller):
    """The example of RFC 7677: user "user", password "pencil". The server's signature there proves the server key."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    change(controller, Upsertion("user", 1, 4096, salt, salted))
    kept = controller.image.scram["user", 1]
    first = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    message = f"{first},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    signature = hmac.digest(kept.server_key, message.encode(), "sha256")
    assert base64.b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    client_signature = hmac.digest(kept.stored_key, message.encode(), "sha256")
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client_key = bytes(a ^ b for a, b in zip(proof, client_signature, strict=True))
    assert hashlib.sha256(client_key).digest() == kept.stored_key


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(mechanism=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (upsertion(mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (upsertion(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(iterations=16384), None),
        (upsertion(salted_password=b""), ErrorCode.UNKNOWN_SERVER_ERROR),
        (Deletion("alice", 1), ErrorCode.RESOURCE_NOT_FOUND),
        (Deletion("", 1), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (Deletion("alice", 7), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
    ],
)
def test_refusals(controller, wanted, code):
    assert list(change(controller, wanted).values()) == [code]
    assert bool(controller.image.scram) == (code is None)


def test_a_user_named_twice_keeps_what_was(controller):
    twice = ErrorCode.DUPLICATE_RESOURCE
    assert change(controller, upsertion(), upsertion(mechanism=2), upsertion("bob")) == {"alice": twice, "bob": None}
    assert change(controller, Deletion("bob", 1), upsertion("bob"), upsertion("bob")) == {"bob": twice}
    assert described(controller) == {"bob": {1: 4096}}


def test_users_asked_for(controller):
    change(controller, upsertion())
    assert described(controller, "alice", "nobody") == {"alice": {1: 4096}, "nobody": ErrorCode.RESOURCE_NOT_FOUND}
    assert described(controller, "alice", "alice") == {"alice": ErrorCode.DUPLICATE_RESOURCE}
