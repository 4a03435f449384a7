"""The address of a client, also behind a reverse proxy.

A proxy adds the address of its client to the header X-Forwarded-For.  Anyone can send that header,
so it counts only if the connection comes from a declared proxy, and only from its right end: the
first address that is not itself a declared proxy.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from hushfade.errors import InvalidValue

_DEEPEST = 20  # proxies in a row


class Proxies:
    """The declared proxies: addresses, or networks such as 10.0.0.0/8."""

    def __init__(self, declared: Sequence[str] = ()) -> None:
        self._networks: list[IPv4Network | IPv6Network] = []
        for text in declared:
            try:
                self._networks.append(ip_network(text))
            except ValueError:
                raise InvalidValue(
                    "must be an address or a network such as 10.0.0.0/8", argument="proxy", got=text
                ) from None

    def __bool__(self) -> bool:
        return bool(self._networks)

    def client(self, peer: str, forwarded: Sequence[str]) -> str:
        """The client's address, from the connection's address and all X-Forwarded-For headers.

        >>> Proxies(["10.0.0.1"]).client("10.0.0.1", ["1.2.3.4, 192.0.2.7"])
        '192.0.2.7'
        >>> Proxies(["10.0.0.1"]).client("192.0.2.9", ["1.2.3.4"])
        '192.0.2.9'
        """
        if not self._networks or not self._trusts(peer):
            return peer
        listed = [text.strip() for text in ",".join(forwarded).split(",")]
        for text in reversed(listed[-_DEEPEST:]):
            address = _plain(text)
            if address is None:
                return peer  # not an address: everything to its left may be invented
            peer = address
            if not self._trusts(address):
                break
        return peer

    def _trusts(self, text: str) -> bool:
        address = _plain(text)
        if address is None:
            return False
        found = ip_address(address)
        return any(found in network for network in self._networks)


def named(address: str) -> str:
    """The name of an address, by which limits count.

    A customer of an IPv6 network has at least a /64, so all its addresses have one name.

    >>> named("2001:db8:0:1:2::3"), named("::ffff:192.0.2.7"), named("192.0.2.7")
    ('2001:db8:0:1::/64', '192.0.2.7', '192.0.2.7')
    """
    plain = _plain(address)
    if plain is None or ":" not in plain:
        return address if plain is None else plain
    return str(IPv6Network((int(IPv6Address(plain)), 64), strict=False))


def _plain(text: str) -> str | None:
    """The address in one spelling, or None."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(found)
