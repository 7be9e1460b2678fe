"""What strangers say: settings of listeners for them, ways to sign in that fail at the end, requests out of place, and spoiling."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from pykbroker.tests.kit.cluster import START_MS
from pykbroker.tests.kit.secured import PLAIN_USERS, SCRAM, tls_settings
from pykbroker.tests.kit.tokens import Issuer, first_message, issuer, key_set, unsecured
from pykbroker.wire.headers import RequestHeader, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.metadata import MetadataRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest

_BEARER: Final = "org.apache.kafka.common.security.oauthbearer"
#: LAX believes tokens that nobody signed, of those who have a scope that nobody is told of.
PROTOCOLS: Final = {"SASL": "SASL_PLAINTEXT", "LAX": "SASL_PLAINTEXT", "BOTH": "SASL_SSL", "CERTS": "SSL"}
_PROOFS: Final = {"SCRAM-SHA-256": b"A" * 43 + b"=", "SCRAM-SHA-512": b"A" * 86 + b"=="}
#: How long who fails waits for his answer.
DELAY_MS: Final = 100
#: Values that lengths, counts and versions are spoiled with.
INTERESTING: Final = (0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_MOST_BYTES: Final = 8000

#: A frame, or what makes one of what was answered before.
Part = bytes | Callable[[bytes], bytes]


class Spoiling:
    """Of bytes, by chance. ``others`` are what they are mixed with."""

    def __init__(self, chance: random.Random, others: Sequence[Sequence[Part]]) -> None:
        self._chance = chance
        self._others = [part for script in others for part in script if isinstance(part, bytes)]
        self._ways = (
            self._flip,
            self._set,
            self._put_number,
            self._cut,
            self._take_out,
            self._put_in,
            self._go_on_as_another,
            self._repeat,
        )

    def __call__(self, data: bytes) -> bytes:
        spoiled = bytearray(data)
        for _ in range(self._chance.choice((1, 1, 1, 2, 4, 16))):
            self._chance.choice(self._ways)(spoiled, self._chance.randrange(len(spoiled) + 1))
        return bytes(spoiled[:_MOST_BYTES])

    def _flip(self, data: bytearray, at: int) -> None:
        if at < len(data):
            data[at] ^= 1 << self._chance.randrange(8)

    def _set(self, data: bytearray, at: int) -> None:
        data[at : at + 1] = self._chance.randbytes(1)

    def _put_number(self, data: bytearray, at: int) -> None:
        width = self._chance.choice((1, 2, 4))
        data[at : at + width] = (self._chance.choice(INTERESTING) & (256**width - 1)).to_bytes(width, "big")

    def _cut(self, data: bytearray, at: int) -> None:
        del data[at:]

    def _take_out(self, data: bytearray, at: int) -> None:
        del data[at : at + self._chance.randrange(1, 9)]

    def _put_in(self, data: bytearray, at: int) -> None:
        data[at:at] = self._chance.randbytes(self._chance.choice((1, 2, 4, 16, 300)))

    def _go_on_as_another(self, data: bytearray, at: int) -> None:
        data[at:] = self._chance.choice(self._others)[at:]

    def _repeat(self, data: bytearray, at: int) -> None:
        data[at:at] = data[at : at + self._chance.choice((1, 4, 16, 64))] * self._chance.choice((1, 2, 30))


def settings(folder: Path) -> dict[str, str]:
    """Of a broker whose listeners but PLAINTEXT let nobody in who does not prove who he is."""
    keys = folder / "keys.json"
    keys.write_text(key_set(issuer()))
    bearer = "listener.name.sasl.oauthbearer."
    texts = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in ("PLAINTEXT", *PROTOCOLS)),
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in {"PLAINTEXT": "PLAINTEXT", **PROTOCOLS}.items()
        ),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "listener.name.both.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "delegation.token.secret.key": "a key that nobody is told",
        "connection.failed.authentication.delay.ms": str(DELAY_MS),
        "listener.name.certs.ssl.client.auth": "required",
        f"{bearer}sasl.jaas.config": f"{_BEARER}.OAuthBearerLoginModule required;",
        f"{bearer}sasl.server.callback.handler.class": f"{_BEARER}.OAuthBearerValidatorCallbackHandler",
        f"{bearer}sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        f"{bearer}sasl.oauthbearer.allow.unverified.audience": "true",
        f"{bearer}sasl.oauthbearer.allow.unverified.issuer": "true",
        "listener.name.lax.oauthbearer.sasl.jaas.config": (
            f'{_BEARER}.OAuthBearerLoginModule required unsecuredValidatorRequiredScope="nobody-is-told";'
        ),
    }
    for listener in ("sasl", "lax", "both"):
        texts[f"listener.name.{listener}.plain.sasl.jaas.config"] = PLAIN_USERS
        for mechanism in _PROOFS:
            texts[f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"] = SCRAM
    return texts | tls_settings(folder)


def scripts(token: str = "none") -> Iterator[list[Part]]:
    """What clients send, without the sizes of frames: ways to sign in that fail at the end, and requests out of place.
    ``token`` is the id of a delegation token that there is.
    """
    versions = [ask(ApiVersionsRequest("test", "1"), version) for version in (0, 3)]
    tokens: dict[str, list[bytes]] = {
        "PLAIN": [b"\0alice\0wrong", b"alice\0alice\0wrong"],
        "OAUTHBEARER": [
            first_message(Issuer(issuer().kid).sign(START_MS)),
            first_message(issuer().sign(START_MS, exp=START_MS // 1000 - 7200)),
            first_message(unsecured(START_MS, scope=["read", "write"])),
        ],
    }
    for mechanism, every in tokens.items():
        for said in every:
            signing = SaslAuthenticateRequest(said)
            for before in ([], versions[:1], versions[1:]):
                yield [*before, ask(SaslHandshakeRequest(mechanism), 1), ask(signing, 2)]
            yield [versions[0], ask(SaslHandshakeRequest(mechanism), 1), ask(signing, 0)]
            yield [ask(SaslHandshakeRequest(mechanism), 0), said]
    for mechanism in _PROOFS:
        for name, more in (("alice", ""), (token, ",tokenauth=true"), ("nobody", "")):
            first = SaslAuthenticateRequest(f"n,,n={name},r=c0ffee{more}".encode())
            yield [ask(SaslHandshakeRequest(mechanism), 1), ask(first, 2), partial(_final_asked, mechanism)]
            yield [ask(SaslHandshakeRequest(mechanism), 0), first.auth_bytes, partial(_final, mechanism)]
    others: list[tuple[Message, int]] = [
        (MetadataRequest(None), 12),
        (CreateTopicsRequest([CreatableTopic("t", 1, 1)]), 7),
        (ProduceRequest(acks=1, topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, b"x")])]), 9),
        (DescribeGroupsRequest(["g"]), 5),
    ]
    for request, version in others:
        asked = ask(request, version)
        yield [asked]
        yield [versions[0], asked]
        yield [ask(SaslHandshakeRequest("PLAIN"), 1), asked]


def _final(mechanism: str, sent: bytes) -> bytes:
    """A proof that is none, for the nonce of the challenge."""
    nonce = sent[sent.find(b"r=c0ffee") :].partition(b",")[0] or b"r=c0ffee"
    return b"c=biws," + nonce + b",p=" + _PROOFS[mechanism]


def _final_asked(mechanism: str, sent: bytes) -> bytes:
    return ask(SaslAuthenticateRequest(_final(mechanism, sent)), 2)


def ask(request: Message, version: int) -> bytes:
    """A request's frame, without its size."""
    frame = bytearray()
    encode_request_header(frame, RequestHeader(request.API_KEY, version, 1, "test"))
    request.encode(frame, version)
    return bytes(frame)
