"""A task's own patterns: which are refused, and that no other one takes for ever."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.patterns import LINE, MOST, Pattern, PatternError, sifted


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "no regular expression"),
        (r"loss \d+", "needs a group"),
        (r"(?P<step>\d+)", "needs a group"),
        (r"(a+)+(?P<value>x)", "repeated group"),
        (r"(?:a|ab)*(?P<value>x)", "repeated group"),
        (r".*loss (?P<value>\d+)", "may also follow"),
        (r"\s+\s+(?P<value>\d)", "may also follow"),
        (r"[a-z]+.(?P<value>\d)", "may also follow"),
        (r"(?P<value>\d+)(?P=value)", "back-references"),
        (r"(?=a)(?P<value>\d)", "looking ahead"),
        ("json step=i", "names its value"),
        (r"(?:a|b|ab){0,32}(?P<value>x)", "too many ways"),
        (r"(?:a?b?){0,32}(?P<value>x)", "may be empty"),
        (r"(?:ab){0,32}a(?P<value>x)", "may also follow"),
        ("a?" * 20 + "a(?P<value>x)", "too many ways"),
        ("(?:a|aa)" * 5 + "(?P<value>x)", "too many ways"),
        ("(?P<value>x)" + "a" * 1000, "at most 1000"),
    ],
)
def test_refused(pattern: str, why: str) -> None:
    with pytest.raises(PatternError, match=why):
        Pattern.of(pattern)


PARTS = st.recursive(
    st.sampled_from(["a", "b", "ab", "[ab]", "[^a]", "."]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{0,32}", "{1,9}"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(PARTS, st.sampled_from(["a", "b", "ab", "aab"]))
def test_what_is_not_refused_ends(inner: str, unit: str) -> None:
    """One that has exponentially many ways to match would not, on lines that almost match everywhere."""
    for text in (f"{inner}c(?P<v>x)", f"(?:{inner}){{0,32}}c(?P<v>x)"):
        try:
            pattern = Pattern.of(text)
        except PatternError:
            continue
        assert pattern.regex is not None
        assert pattern.regex.search((unit * LINE)[:LINE]) is None


def test_patterns_are_sifted() -> None:
    good, refused = sifted(["(?P<a>1)", "(", *["(?P<b>1)"] * MOST])
    assert good == ("(?P<a>1)", *["(?P<b>1)"] * (MOST - 2))
    assert [text for text, _ in refused] == ["(", "(?P<b>1)", "(?P<b>1)"]
    assert sifted({"x": 1}) == ((), [("{'x': 1}", "patterns are a list of texts")])
