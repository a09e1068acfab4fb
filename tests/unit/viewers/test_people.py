"""Who asks, and what they may see."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from gateway.viewers.limits import Rate
from gateway.viewers.people import COOKIE, People, without_ours
from gateway.viewers.rights import Rights, TaskFacts
from gateway.viewers.settings import PeopleSettings
from gateway.viewers.words import Person
from runtime.errors import PermanentError

NOW = 1_796_000_000.0


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    file = tmp_path / "tokens.toml"
    file.write_text(
        f'[[token]]\nuser = "ada"\ngroups = ["vision", "ops"]\nsha256 = "{hashlib.sha256(b"ada-token").hexdigest()}"\n'
        f'[[token]]\nuser = "bob"\nsha256 = "{hashlib.sha256(b"bob-token").hexdigest()}"\n'
    )
    return file


@pytest.fixture
def people(tokens: Path, tmp_path: Path) -> People:
    return People(PeopleSettings(sign_in=("tokens", "proxy"), tokens=str(tokens), proxies=("10.0.0.0/8",)), tmp_path)


def headers(*pairs: tuple[str, str]) -> Headers:
    return Headers(raw=[(name.lower().encode(), value.encode("latin-1")) for name, value in pairs])


def test_a_token_names_user_and_groups(people: People) -> None:
    person = people.who(headers(("Authorization", "Bearer ada-token"), ("User-Agent", "curl/8")), "192.0.2.1", NOW)
    assert person == Person("ada", frozenset({"vision", "ops"}), "192.0.2.1 curl/8", "api")
    assert people.who(headers(("Authorization", "Bearer wrong")), "192.0.2.1", NOW) is None
    assert people.who(headers(("Authorization", "Basic ada-token")), "192.0.2.1", NOW) is None
    assert people.who(headers(), "192.0.2.1", NOW) is None


def test_a_session_holds_until_it_expires_and_no_bit_of_it_may_change(people: People) -> None:
    value = people.session(Person("ada", frozenset({"vision"})), NOW)

    def who(cookie: str, now: float = NOW + 10) -> Person | None:
        return people.who(headers(("Cookie", f"other=1; {COOKIE}={cookie}")), "192.0.2.1", now)

    person = who(value)
    assert person is not None
    assert (person.user, person.groups) == ("ada", frozenset({"vision"}))
    assert who(value, NOW + 43200) is None
    for place in range(0, len(value), 7):
        changed = value[:place] + ("A" if value[place] != "A" else "B") + value[place + 1 :]
        assert who(changed) is None
    assert who("") is None
    assert who(value.partition(".")[0]) is None


def test_another_gateways_key_signs_nothing_here(people: People, tokens: Path, tmp_path: Path) -> None:
    other = People(PeopleSettings(sign_in=("tokens",), tokens=str(tokens)), tmp_path / "other")
    value = other.session(Person("ada"), NOW)
    assert people.who(headers(("Cookie", f"{COOKIE}={value}")), "192.0.2.1", NOW) is None


def test_identity_headers_are_believed_from_the_proxy_only_and_only_once(people: People) -> None:
    told = (("X-Forwarded-User", "ada"), ("X-Forwarded-Groups", "vision, nlp"))
    person = people.who(headers(*told), "10.1.2.3", NOW)
    assert person is not None
    assert (person.user, person.groups) == ("ada", frozenset({"vision", "nlp"}))
    assert people.who(headers(*told), "192.0.2.1", NOW) is None
    assert people.who(headers(*told), "not an address", NOW) is None
    assert people.who(headers(("X-Forwarded-User", "mallory"), *told), "10.1.2.3", NOW) is None, "smuggled beside the true one"
    assert people.who(headers(("X-Forwarded-User", "")), "10.1.2.3", NOW) is None


def test_a_tool_gets_none_of_our_cookies() -> None:
    assert without_ours({"cookie": f"a=1; {COOKIE}=secret; trainwire_x=2; b=3"}) == "a=1; b=3"
    assert without_ours({}) == ""


def test_rules_decide_in_order_and_admins_may_all(tmp_path: Path) -> None:
    file = tmp_path / "rights.toml"
    file.write_text(
        'admins = ["ops"]\n'
        '[[rule]]\ntasks = "public-*"\nview = ["*"]\n'
        '[[rule]]\ntasks = "*"\nproject = "vision"\nview = ["group:vision"]\n'
        '[[rule]]\ntasks = "*"\nview = ["owner", "user:eve"]\n'
    )
    rights = Rights.load(str(file))
    ada, bob, eve, ops = Person("ada", frozenset({"vision"})), Person("bob"), Person("eve"), Person("root", frozenset({"ops"}))
    public, vision, bobs = TaskFacts("public-1", "ada"), TaskFacts("x", "bob", "vision"), TaskFacts("Public-1", "bob")
    nobodys = TaskFacts("y")
    assert [rights.may_view(p, public) for p in (ada, bob, eve, ops)] == [True, True, True, True]
    assert [rights.may_view(p, vision) for p in (ada, bob, eve, ops)] == [True, False, False, True]
    assert [rights.may_view(p, bobs) for p in (ada, bob, eve, ops)] == [False, True, True, True]
    assert [rights.may_view(p, nobodys) for p in (Person(""), ada, ops)] == [False, False, True]
    assert [rights.may_end(p, "bob") for p in (ada, bob, ops)] == [False, True, True]


@pytest.mark.parametrize(
    ("text", "said"),
    [("[[rule]]\nview = ['*']", "rule 1"), ("[[rule]]\ntasks = '*'\nview = ['everybody']", "everybody"), ("x = [", "rights")],
)
def test_a_wrong_policy_is_refused_at_start(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "rights.toml"
    file.write_text(text)
    with pytest.raises(PermanentError, match=said):
        Rights.load(str(file))


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"x = ["], ids=["missing", "not UTF-8", "not TOML"])
def test_files_of_people_that_cannot_be_read_are_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "people.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(PermanentError, match=r"TRAINWIRE_GATEWAY_TOKENS=.*people\.toml: "):
        People(PeopleSettings(sign_in=("tokens",), tokens=str(file)), tmp_path)
    with pytest.raises(PermanentError, match=r"TRAINWIRE_GATEWAY_RIGHTS=.*people\.toml: "):
        Rights.load(str(file))


def test_rate() -> None:
    rate = Rate(30)
    assert [rate.take("ada", 0.0) for _ in range(30)] == [0.0] * 30
    assert rate.take("ada", 0.0) == pytest.approx(2)
    assert rate.take("bob", 0.0) == 0.0
    assert rate.take("ada", 2.1) == 0.0
    assert rate.take("ada", 2.1) > 0
