"""Lines of logs, terminals and pages: an element is one line of text, and no markup."""

from __future__ import annotations

import logging
import re
import warnings
from html.parser import HTMLParser

import attrs
import pytest

import headrace as hr
from headrace.errors import HeadraceError, HeadraceWarning, shorten, warn
from headrace.grouping.bundle import Element
from headrace.io import WriteToConsole
from headrace.sdk.elements.element_table import ElementTable

TEXT = (
    "\x1b[2J\x1b]0;hacked\x07\r\nWARNING forged\u2028line\u202eback\x9b1m\x00"
    "<script>alert(1)</script>&'\"{{job}}"
)
"""Escapes of terminals, breaks of lines, controls of direction, and markup."""

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@attrs.frozen(repr=False)
class Hostile:
    """An element with a repr that has not been escaped."""

    text: str = TEXT

    def __repr__(self):
        return self.text

    __str__ = __repr__


ELEMENTS = [
    TEXT,
    Hostile(),
    {TEXT: Hostile()},
    (Hostile(), [TEXT]),
    TEXT.encode("utf-8", "replace"),
]


def assert_one_line(text):
    assert "WARNING forged" in text or "..." in text
    assert not CONTROL.search(text)
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda element: type(element).__name__)
def test_an_element_in_a_message_is_one_line(element):
    assert len(shorten(element).splitlines()) == 1
    assert not CONTROL.search(shorten(element))


def test_the_parts_of_an_error_cannot_be_forged():
    error = HeadraceError(f"bad {TEXT}", where=TEXT, remedy=TEXT)
    assert not CONTROL.search(str(error))
    lines = str(error).splitlines()
    assert [line for line in lines if not line.startswith("    ")] == [lines[0], lines[2], lines[4]]
    assert [line.strip().startswith("WARNING forged") for line in lines] == [False, True] * 3


def test_an_error_of_a_function_shows_the_element_as_one_line():
    with pytest.raises(ZeroDivisionError) as found, hr.Pipeline() as p:
        _ = p | hr.Create([Hostile()]) | hr.Map(lambda element: 1 // 0)
    assert all(len(note.splitlines()) == 1 for note in found.value.__notes__)
    assert not CONTROL.search("".join(found.value.__notes__))


def test_a_warning_cannot_begin_another_line():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn(f"bad {TEXT}", where="Read")
    (found,) = (w for w in seen if w.category is HeadraceWarning)
    assert not CONTROL.search(str(found.message))
    assert str(found.message).splitlines()[1].startswith("    ")


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda element: type(element).__name__)
def test_what_is_printed_is_one_line_for_each_element(element, capsys):
    with hr.Pipeline() as p:
        read = p | hr.Create([element])
        _ = read | WriteToConsole()
        _ = read | hr.LogElements()
    found = capsys.readouterr().out
    assert not CONTROL.search(found)
    assert len(found.splitlines()) == 2


def test_what_is_logged_is_one_line_for_each_element(caplog):
    with caplog.at_level(logging.INFO), hr.Pipeline() as p:
        _ = p | hr.Create([Hostile()]) | hr.LogElements(level=logging.INFO)
    assert_one_line(caplog.records[-1].getMessage())


class Tags(HTMLParser):
    """Collects the elements of a page, and its attributes."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, attributes))


def tags(page):
    parser = Tags()
    parser.feed(page)
    return parser.found


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda element: type(element).__name__)
def test_a_table_of_elements_has_one_line_for_each_and_no_markup(element):
    table = ElementTable(TEXT.partition("\x1b")[0] + "<script>", (Element(element, 0, ()),))
    assert not CONTROL.search(str(table))
    assert len(str(table).splitlines()) == 3
    assert {tag for tag, _ in tags(table._repr_html_())} <= {
        *("div", "style", "table", "caption", "tr", "th", "td", "p")
    }


@pytest.mark.parametrize("format", ["mermaid", "html"])
def test_labels_are_text_in_an_explained_plan(format):
    p = hr.Pipeline()
    _ = p | TEXT >> hr.Create([("a", 1)]) | f"{TEXT} 2" >> hr.GroupByKey() | WriteToConsole()
    shown = hr.explain(p, format=format)
    assert "alert" in str(shown)
    assert "<script" not in str(shown)
    assert "script" not in {tag for tag, _ in tags(p._repr_html_())}
