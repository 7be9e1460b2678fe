"""The kernel's tables of routes, as Linux prints them."""

from __future__ import annotations

import ipaddress
import sys

from pykbroker.process.gateways import default_gateways, gateways, gateways_6

FOUR = """\
Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	{gateway}	0003	0	0	0	00000000	0	0	0
eth0	000011AC	00000000	0001	0	0	0	0000FFFF	0	0	0
eth1	000012AC	010012AC	0003	0	0	0	0000FFFF	0	0	0
wg0	00000000	00000000	0001	0	0	0	00000000	0	0	0
"""
SIX = """\
fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 1 0 00000001 eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 1 0 00000003 eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 1 0 00200200 lo
"""


def test_the_default_route_alone_leads_to_other_networks() -> None:
    gateway = int.from_bytes(ipaddress.ip_address("172.17.0.1").packed, sys.byteorder)
    assert list(gateways(FOUR.format(gateway=f"{gateway:08X}"))) == ["172.17.0.1"]
    assert list(gateways_6(SIX)) == ["fd00::1"]


def test_a_machine_without_routes_has_none() -> None:
    assert list(gateways("")) == list(gateways(FOUR.splitlines()[0])) == list(gateways_6("")) == []


def test_those_of_this_machine_are_addresses() -> None:
    found = default_gateways()
    assert [str(ipaddress.ip_address(address)) for address in found] == list(found)
