"""ToString and Regex: elements as text, and text matched with regular expressions."""

import re
from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestPipeline, capture
from tests.model.semantics.scenarios import (
    EACH,
    END,
    FIXED,
    RETRACTING,
    arrive,
    at,
    into,
    script,
    words,
)

Regex: Any = hr.Regex

TEXT: list[Any] = [
    (hr.ToString.Element(), [1.5, None], ["1.5", "None"]),
    (hr.ToString.Iterables(), [("to", 2, "b"), [1]], ["to,2,b", "1"]),
    (hr.ToString.Iterables(""), [("to", 2)], ["to2"]),
    (hr.ToString.Kvs(), [("a", 1)], ["a,1"]),
    (hr.ToString.Kvs(": "), [("a", 1)], ["a: 1"]),
    (Regex.matches("[xyz]"), ["x1", "ax", "yz"], ["x", "y"]),
    (Regex.matches("[xyz]$"), ["x1", "y"], ["y"]),
    (Regex.matches("x (?P<name>[a-z]*)", "name"), ["x ab", "x ", "y"], ["ab", ""]),
    (Regex.matches("(a)|b", 1), ["a", "b"], ["a", None]),
    (Regex.all_matches("(.) (.)"), ["a x", "ax"], [["a x", "a", "x"]]),
    (Regex.all_matches("a"), ["ab"], [["a"]]),
    (Regex.all_matches("((a)b)(c)?"), ["ab"], [["ab", "ab", "a", None]]),
    (Regex.matches_kv("(.)=(?P<value>.)", 1, "value"), ["a=1", "xa=1"], [("a", "1")]),
    (Regex.matches_kv("(.)=(.)", 1), ["a=1"], [("a", "a=1")]),
    (Regex.find(re.compile("[xyz]")), ["ax", "a", "yx"], ["x", "y"]),
    (Regex.find("a(.)", 1), ["-ab"], ["b"]),
    (Regex.find_all("a(b*)"), ["abb a", "x"], [["abb", "a"], []]),
    (Regex.find_all("a(b*)", 1), ["abb a"], [["bb", ""]]),
    (Regex.find_all("a(b*)", 1, outputEmpty=False), ["abb a"], [["bb"]]),
    (Regex.find_all("a(b*)", Regex.ALL), ["abb a"], [[("abb", "bb"), ("a", "")]]),
    (Regex.find_all("a(b*)", Regex.ALL, outputEmpty=False), ["abb a"], [[("abb", "bb")]]),
    (Regex.find_all("(a?)(b?)", Regex.ALL, False), ["bxa"], [[("b", "", "b"), ("a", "a", "")]]),
    (Regex.find_all("b*", Regex.ALL, outputEmpty=False), ["abb"], [[("bb",)]]),
    (Regex.find_kv("(.)=(.)", 1, 2), ["a=1,b=2", "c"], [("a", "1"), ("b", "2")]),
    (Regex.find_kv("(.)=(.)", 2), ["-a=1"], [("1", "a=1")]),
    (Regex.replace_all("[xy]", "-"), ["xay", "b"], ["-a-", "b"]),
    (Regex.replace_all("(x)(y)", r"\2\1"), ["xyxy"], ["yxyx"]),
    (Regex.replace_first("[xy]", "-"), ["xay", "b"], ["-ay", "b"]),
    (Regex.split(r"\W+"), ["to be, or", ",a"], [["to", "be", "or"], ["a"]]),
    (Regex.split(",", outputEmpty=True), ["a,,b"], [["a", "", "b"]]),
    (Regex.split("(,)"), ["a,b"], [["a", ",", "b"]]),
]


def labelled(transform, number):
    return f"{number} {transform.label}".replace("/", "") >> transform


@pytest.mark.mode("batch")
def test_all_of_them_in_a_batch(runner):
    with TestPipeline(runner=runner) as p:
        found = []
        for number, (transform, elements, _) in enumerate(TEXT):
            created = p | f"Create {number}" >> hr.Create(elements)
            found.append(capture(created | labelled(transform, number), f"found {number}"))
    for captured, (transform, _, expected) in zip(found, TEXT, strict=True):
        assert (transform.label, captured.values) == (transform.label, expected)


@pytest.mark.mode("streaming")
def test_all_of_them_in_a_stream(runner):
    with TestPipeline(runner=runner) as p:
        found = []
        events = [
            arrive(*(at(1, (n, each)) for n, (_, es, _) in enumerate(TEXT) for each in es)),
            END,
        ]
        stream = p | script(events) | into(FIXED) | hr.Values()
        for number, (transform, _, _) in enumerate(TEXT):
            own = stream | f"Own {number}" >> hr.Filter(lambda pair, n: pair[0] == n, number)
            elements = own | f"Values {number}" >> hr.Values()
            found.append(capture(elements | labelled(transform, number), f"found {number}"))
    for captured, (transform, _, expected) in zip(found, TEXT, strict=True):
        assert (transform.label, captured.values) == (transform.label, expected)
        assert {tuple(e.window) for e in captured.elements} <= {(0, 10_000_000)}


def test_retractions_are_retractions_of_the_text(play):
    events = [arrive(at(1, "a")), arrive(at(2, "b")), END]
    texts = [hr.ToString.Kvs("="), Regex.find_kv("(.)=(.*)", 1, 2)]
    played = play(events, into(FIXED, EACH, RETRACTING), words(), *texts)
    assert played.values == ["a", "-a", "ab"]


@pytest.mark.parametrize(
    "transform",
    [
        lambda: Regex.matches("("),
        lambda: Regex.all_matches("("),
        lambda: Regex.find_all("[", Regex.ALL),
        lambda: Regex.replace_all("*", ""),
        lambda: Regex.split(7),
    ],
)
def test_a_malformed_expression_is_refused(transform):
    with pytest.raises(hr.PipelineError, match="is not a regular expression"):
        transform()


@pytest.mark.parametrize("group", [2, -1, "name", None])
def test_a_group_that_does_not_exist_is_refused(group):
    for make in (Regex.matches, Regex.find, Regex.find_all):
        with pytest.raises(hr.PipelineError, match=f"no group {group!r}") as error:
            make("(?P<word>a)", group)
        assert error.value.remedy == "use a number from 0 to 1, 'word'"
    for make in (Regex.matches_kv, Regex.find_kv):
        with pytest.raises(hr.PipelineError, match=f"no group {group!r}"):
            make("(?P<word>a)", 0, group)


def test_an_element_that_is_not_text_is_an_error_with_the_label():
    with pytest.raises(TypeError) as error, TestPipeline() as p:
        _ = p | hr.Create([7, "a"]) | Regex.find("a")
    assert any("find(a)" in note for note in error.value.__notes__)


def test_failures_can_be_dead_letters():
    with TestPipeline() as p:
        good, bad = p | hr.Create(["a1", 7]) | Regex.find("[0-9]").with_exception_handling()
        found, failed = capture(good, "good"), capture(bad, "bad")
    assert found.values == ["1"]
    assert [element for element, _ in failed.values] == [7]
