"""Which remotes may be asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.errors import InvalidRequest
from app.sources.address import AddressPolicy, parse_address

OPEN = AddressPolicy(frozenset(), None)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://Forge.Example/a/b/", "https://forge.example/a/b"),
        ("https://forge.example:443/a", "https://forge.example/a"),
        ("https://forge.example:8443/a.git", "https://forge.example:8443/a.git"),
        ("git@forge.example:a/b.git", "ssh://git@forge.example/a/b.git"),
        ("ssh://git@forge.example:22/a", "ssh://git@forge.example/a"),
        ("file:///srv/git/a.git", "file:///srv/git/a.git"),
        ("https://[2001:db8::1]:8443/a", "https://[2001:db8::1]:8443/a"),
    ],
)
def test_an_address_is_written_in_one_way(text: str, url: str) -> None:
    assert parse_address(text).url == url
    assert parse_address(url).url == url


@pytest.mark.parametrize(
    "text",
    [
        "ext::sh -c whoami",
        "ext::sh",
        "--upload-pack=touch",
        "-oProxyCommand=x@h:p",
        "ssh://-oProxyCommand=x/a",
        "ssh://git@-host/a",
        "ssh://-u@host/a",
        "git://forge.example/a",
        "ftp://forge.example/a",
        "/srv/git/a.git",
        "a.git",
        "https://user:secret@forge.example/a",
        "https://token@forge.example/a",
        "ssh://git:secret@forge.example/a",
        "https://forge.example",
        "https:///a",
        "https://forge.example/a?x=1",
        "https://forge.example/a#x",
        "https://forge.example/a b",
        "https://forge.example/a\n",
        "https://forge.example/../a",
        "https://forge.example/%2e%2e/a",
        "https://forge.example:99999/a",
        "file://elsewhere/a",
        "file:///srv/../etc",
        "https://" + "a" * 3_000,
    ],
)
def test_what_is_never_asked(text: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        parse_address(text)
    assert "secret" not in raised.value.message


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.0.1",
        "169.254.169.254",
        "[::1]",
        "[fd00::1]",
        "[fe80::1]",
        "0.0.0.0",
        "[::ffff:10.0.0.1]",
        "100.64.0.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "0x7f000001",
        "127.1",
        "017700000001",
        "224.0.0.1",
        "[ff02::1]",
        "[fec0::1]",
        "[::]",
        "[::127.0.0.1]",
        "[2002:7f00:1::]",
        "[2002:a9fe:a9fe::1]",
        "[64:ff9b::a00:1]",
        "[64:ff9b::169.254.169.254]",
        "[64:ff9b:1::7f00:1]",
    ],
)
def test_hosts_inside_the_network_are_refused_unless_named(host: str) -> None:
    with pytest.raises(InvalidRequest, match="not public"):
        OPEN.check(parse_address(f"https://{host}/a"))
    named = AddressPolicy(frozenset({host.strip("[]")}), None)
    assert named.check(parse_address(f"https://{host}/a"))


def test_plain_http_is_for_named_hosts() -> None:
    with pytest.raises(InvalidRequest, match="plain http"):
        OPEN.check(parse_address("http://93.184.216.34/a"))
    assert AddressPolicy(frozenset({"93.184.216.34"}), None).check(parse_address("http://93.184.216.34/a")) == "93.184.216.34"


def test_files_lie_under_the_allowed_roots(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    policy = AddressPolicy(frozenset(), (root,))
    assert policy.check(parse_address(f"file://{root}/a.git")) is None
    for path in (outside, root / "link", tmp_path / "rootlike"):
        with pytest.raises(InvalidRequest, match="allowed roots"):
            policy.check(parse_address(f"file://{path}"))
    assert OPEN.check(parse_address(f"file://{outside}")) is None


def test_commits_of_a_public_remote_lead_to_public_hosts_alone(tmp_path: Path) -> None:
    """Whoever writes a commit names the addresses of its submodules."""
    policy = AddressPolicy(frozenset({"10.0.0.1", "10.0.0.2"}), None)
    public = policy.of_commits(parse_address("https://93.184.216.34/a"))
    for url, reason in (("https://10.0.0.1/b", "not public"), (f"file://{tmp_path}", "allowed roots"), ("http://10.0.0.1/b", "plain http")):
        with pytest.raises(InvalidRequest, match=reason):
            public.check(parse_address(url))
    assert public.check(parse_address("https://93.184.216.35/b")) == "93.184.216.35"
    inside = policy.of_commits(parse_address("https://10.0.0.1/a"))
    assert inside.check(parse_address("https://10.0.0.2/b")) == "10.0.0.2"
