from __future__ import annotations

import pytest

from pykbroker.network.refused_frames import explain


@pytest.mark.parametrize(
    ("prefix", "said"),
    [
        (b"\x16\x03\x01\x02", "it opened with a TLS handshake, but this listener speaks plaintext"),
        (b"POST", "it speaks HTTP"),
        (b"\xff\xff\xff\xff", "it announced a frame of -1 bytes, but a.setting is 7"),
        (b"\x00\x00\x00\x08", "it announced a frame of 8 bytes, but a.setting is 7"),
    ],
)
def test_a_refused_frame_is_explained(prefix: bytes, said: str) -> None:
    assert explain(prefix, 7, "a.setting").startswith(said)
