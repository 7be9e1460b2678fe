"""Request and response headers.

For flexible versions of an API the request header has version 2 and the response header version 1 (KIP-482), otherwise
1 and 0. The client id has a two-byte length in both, so that any broker can read the header of an ApiVersions request;
its response always has header version 0, since the sender may not know the broker's versions (KIP-511).
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
    """The header of a request. ``client_id`` may be null."""

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
    """(API key, version, correlation id, client id, position of the body) of a request at ``pos`` of a frame.

    Invalid UTF-8 in the client id becomes replacement characters, as in Kafka. The version may be unknown, since
    ApiVersions answers those too. Tagged fields are skipped; none is defined for headers. Raises WireError for malformed
    bytes, and for an unknown API key, with which the header's version is unknown.
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
    """Append a request header of the version that belongs to the API version."""
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
    """A frame with room for its size, and the response header; to be completed by encoding the body and ``finish``."""
    flexible = version >= _FLEXIBLE_RESPONSE_FROM[api_key]
    return FrameWriter(_pack_flexible_response(correlation_id) if flexible else _pack_response(correlation_id))


def decode_response_header(buf: Buffer, pos: int, api_key: int, version: int) -> tuple[int, int]:
    """(correlation id, position of the body) of a response to this version of the API."""
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
