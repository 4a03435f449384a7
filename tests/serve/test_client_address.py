import pytest

from hushfade.errors import InvalidValue, Refused
from hushfade.serve.client_address import Proxies, named
from hushfade.serve.guard import Guard
from hushfade.store.tokens import SCOPES, Token

PROXIES = Proxies(["10.0.0.0/8", "fd00::1", "127.0.0.1"])


def test_without_declared_proxies_no_header_counts():
    assert Proxies().client("192.0.2.1", ["198.51.100.7"]) == "192.0.2.1"


def test_only_a_declared_proxy_is_believed():
    assert PROXIES.client("192.0.2.1", ["198.51.100.7"]) == "192.0.2.1"
    assert PROXIES.client("10.1.2.3", ["198.51.100.7"]) == "198.51.100.7"
    assert PROXIES.client("fd00::1", ["2001:db8::7"]) == "2001:db8::7"
    assert PROXIES.client("::ffff:127.0.0.1", ["::ffff:198.51.100.7"]) == "198.51.100.7"


def test_what_the_client_invents_is_to_the_left_of_what_the_proxy_adds():
    for invented in ("1.1.1.1", "1.1.1.1, 2.2.2.2", "<script>", "", "127.0.0.1, 10.9.9.9"):
        assert PROXIES.client("10.0.0.1", [invented, "198.51.100.7"]) == "198.51.100.7"
        assert PROXIES.client("10.0.0.1", [f"{invented}, 198.51.100.7, 10.0.0.2"]) == "198.51.100.7"


def test_a_header_that_is_no_address_leaves_the_last_address_that_is_certain():
    for text in ("unknown", "198.51.100.7:80", "_hidden", "", "9" * 300):
        assert PROXIES.client("10.0.0.1", [text]) == "10.0.0.1"
        assert PROXIES.client("10.0.0.1", [text + ", 10.0.0.2"]) == "10.0.0.2"
    assert PROXIES.client("10.0.0.1", []) == "10.0.0.1"
    assert PROXIES.client("", ["198.51.100.7"]) == ""


def test_a_proxy_must_be_an_address_or_a_network():
    for text in ("nginx", "10.0.0.1/8", "10.0.0.0/33", ""):
        with pytest.raises(InvalidValue, match="proxy must be an address or a network"):
            Proxies([text])


def test_a_service_behind_a_proxy_needs_tokens():
    """Otherwise a request that the proxy forwards would look like one from this machine."""
    with pytest.raises(Refused, match="behind a proxy must have tokens"):
        Guard(proxies=["127.0.0.1"]).may_listen("127.0.0.1")
    Guard([Token("a", ("admin",), "0")], proxies=["127.0.0.1"]).may_listen("127.0.0.1")


def test_readers_behind_a_proxy_have_their_own_rates(make):
    client = make(scopes=SCOPES, public=True, rate=3, proxies=["127.0.0.1"])

    def statuses(address):
        head = {"X-Forwarded-For": address}
        return [client.get("/v1/datasets", headers=head).status_code for _ in range(6)]

    assert 429 in statuses("198.51.100.1")
    assert statuses("198.51.100.2")[:3] == [200] * 3


def test_readers_without_a_declared_proxy_share_one_rate_whatever_they_claim(make):
    client = make(scopes=SCOPES, public=True, rate=3)
    found = [
        client.get("/v1/datasets", headers={"X-Forwarded-For": f"198.51.100.{n}"}).status_code
        for n in range(8)
    ]
    assert 429 in found


def test_addresses_of_one_network_have_one_name():
    """A customer of an IPv6 network has at least a /64; IPv4 addresses count one by one."""
    for address, name in (
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::9", "2001:db8:1:3::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.8", "192.0.2.8"),
        ("", ""),
        ("a pipe", "a pipe"),
    ):
        assert named(address) == name
