"""Request and response headers.

Versions: a request header is 2 and a response header 1 where the API's version is flexible (KIP-482), else 1 and 0. The
client id keeps its two-byte length in both, so that any broker can read the header of an ApiVersions request; its
response always has header version 0, as its sender does not yet know what we speak (KIP-511).
"""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error

from pykbroker.wire.api import API_VERSIONS
from pykbroker.wire.apis import APIS
from pykbroker.wire.errors import WireError
from pykbroker.wire.frames import FrameWriter
from pykbroker.wire.message import WireStruct
from pykbroker.wire.primitives import Buffer, read_unknown_tags, truncated

_FLEXIBLE_FROM = {key: api.flexible_from for key, api in APIS.items()}
_FLEXIBLE_RESPONSE_FROM = _FLEXIBLE_FROM | {API_VERSIONS: 0x7FFF + 1}
_unpack_request = Struct(">hhih").unpack_from
_pack_request = Struct(">hhih").pack
_pack_response = Struct(">xxxxi").pack
_pack_flexible_response = Struct(">xxxxix").pack


class RequestHeader(WireStruct):
    """What stands before every request. ``client_id`` may be absent."""

    __slots__ = ("api_key", "api_version", "client_id", "correlation_id")

    def __init__(self, api_key: int, api_version: int, correlation_id: int, client_id: str | None) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id


def decode_request_header(buf: Buffer, pos: int) -> tuple[RequestHeader, int]:
    """Read a request header at ``pos`` of a frame; return it and where the body begins. Raises as
    ``read_request_header``.
    """
    key, version, correlation_id, client_id, pos = read_request_header(buf, pos)
    return RequestHeader(key, version, correlation_id, client_id), pos


def read_request_header(buf: Buffer, pos: int) -> tuple[int, int, int, str | None, int]:
    """API key, version, correlation id and client id of a request header at ``pos`` of a frame, and where the body begins.

    What is not UTF-8 in the client id becomes replacement characters, as in Kafka. The version need not be one the API
    has: ApiVersions answers those too. Tagged fields of the header are skipped; none is defined. Raises WireError if the
    API key is unknown, for then the header's length is unknown too, and if the bytes are malformed.
    """
    try:
        key, version, correlation_id, size = _unpack_request(buf, pos)
        flexible_from = _FLEXIBLE_FROM.get(key)
        if flexible_from is None:
            raise WireError(f"a request with the unknown API key {key}")
        pos += 10
        client_id = None
        if size >= 0:
            start = pos
            pos += size
            client_id = str(buf[start:pos], "utf-8", "replace")
        if version >= flexible_from:
            tags = buf[pos]
            pos += 1
            if tags:
                _, pos = read_unknown_tags(buf, pos, tags)
    except (struct_error, IndexError) as error:
        raise truncated("request header", 2) from error
    if pos > len(buf):
        raise truncated("request header", 1)
    return key, version, correlation_id, client_id, pos


def encode_request_header(out: bytearray, header: RequestHeader) -> None:
    """Append a request header, in the version that its API version asks for."""
    client_id = b"" if header.client_id is None else header.client_id.encode()
    size = -1 if header.client_id is None else len(client_id)
    try:
        out += _pack_request(header.api_key, header.api_version, header.correlation_id, size)
    except struct_error as error:
        raise WireError(f"cannot write a request header: {error}") from error
    out += client_id
    if header.api_version >= _FLEXIBLE_FROM[header.api_key]:
        out.append(0)


def begin_response(api_key: int, version: int, correlation_id: int) -> FrameWriter:
    """A frame that holds room for its size and the response header; encode the body into it, then ``finish`` it."""
    flexible = version >= _FLEXIBLE_RESPONSE_FROM[api_key]
    return FrameWriter(_pack_flexible_response(correlation_id) if flexible else _pack_response(correlation_id))


def decode_response_header(buf: Buffer, pos: int, api_key: int, version: int) -> tuple[int, int]:
    """Read the header of a response to this version of the API; return its correlation id and where the body begins."""
    if len(buf) - pos < 4:
        raise truncated("response header", 0)
    correlation_id = int.from_bytes(buf[pos : pos + 4], "big", signed=True)
    pos += 4
    if version < _FLEXIBLE_RESPONSE_FROM[api_key]:
        return correlation_id, pos
    try:
        tags = buf[pos]
        _, pos = read_unknown_tags(buf, pos + 1, tags)
    except IndexError as error:
        raise truncated("response header", 1) from error
    return correlation_id, pos
