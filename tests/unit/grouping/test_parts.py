"""Parts of windows: what merged windows were merged from, and what is left when some go."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from headrace.grouping.state import parts as parts_module
from headrace.grouping.state.parts import Parts
from headrace.runners.contents.reductions import reduction_of
from headrace.sdk.groups.combine_fn import combine_fn_of
from headrace.windowing.sessions import overlapping
from headrace.windowing.window import interval

SUM = reduction_of(combine_fn_of(sum, (), {}), changing=True)
BAG = reduction_of(None, changing=True)

starts = st.integers(0, 60)
part = st.builds(lambda start, gap: interval(start, start + gap), starts, st.integers(1, 9))
changes = st.lists(st.tuples(part, st.sampled_from([1, 1, -1])), max_size=40)


@pytest.fixture(params=[2, 3, 512], autouse=True)
def _blocks(request, monkeypatch):
    monkeypatch.setattr(parts_module, "BLOCK", request.param)


def put(parts, window, diff, reduction=SUM, value=1):
    was, is_now = parts.put(window, reduction.of([value], [diff]), reduction)
    if is_now and not was:
        parts.mark_present(window)
    if was and not is_now:
        parts.mark_absent(window)


def present(net):
    return sorted(window for window, count in net.items() if count > 0)


def net_of(rows):
    net: dict[Any, int] = {}
    for window, diff in rows:
        net[window] = net.get(window, 0) + diff
    return net


@settings(deadline=None)
@given(rows=changes)
@pytest.mark.parametrize("reduction", [SUM, BAG], ids=["sum", "list"])
def test_parts_are_present_while_something_is_left_of_them(reduction, rows):
    parts = Parts()
    for window, diff in rows:
        put(parts, window, diff, reduction)
    net = net_of(rows)
    assert list(parts.present()) == present(net)
    assert len(parts) == sum(count != 0 for count in net.values())


@settings(deadline=None)
@given(rows=changes, bounds=st.tuples(starts, starts))
def test_what_lies_between_two_places_is_found(rows, bounds):
    parts, (begin, end) = Parts(), ((bound,) for bound in sorted(bounds))
    for window, diff in rows:
        put(parts, window, diff)
        parts.total((0,), (99,), SUM)  # what is known by now must not be believed later
    net = net_of(rows)
    inside = [window for window in present(net) if begin <= window < end]
    assert list(parts.present(begin, end)) == inside
    assert parts.total(begin, end, SUM) == (sum(net[w] for w in inside),) * 2
    assert parts.latest(begin, end) == max((w[1] for w in inside), default=parts.latest((), ()))


@settings(deadline=None)
@given(rows=st.sets(part, min_size=1, max_size=25), data=st.data())
def test_a_session_comes_apart_into_what_is_left(rows, data):
    """Whatever goes of the parts of a session, what is left merges as it would from the start."""
    parts = Parts()
    for window in rows:
        put(parts, window, 1)
    members, session = data.draw(st.sampled_from(overlapping(sorted(rows))))
    gone = data.draw(st.lists(st.sampled_from(members), unique=True))
    for window in gone:
        put(parts, window, -1)
    left = [window for window in members if window not in gone]
    assert parts.split(session, gone) == [cover for _, cover in overlapping(left)]


def test_a_total_is_not_changed_by_what_is_made_of_it():
    parts = Parts()
    for n in range(9):
        put(parts, interval(n, n + 2), 1, BAG, value=n)
    first = parts.total((0,), (99,), BAG)
    BAG.merge(first, BAG.of(list(range(100))))
    assert sorted(BAG.result(parts.total((0,), (99,), BAG))) == list(range(9))


def test_what_is_dropped_is_gone_and_what_is_present_is_not_forgotten():
    parts = Parts()
    for n in range(5):
        put(parts, interval(n, n + 2), 1)
    parts.forget(interval(3, 5))
    parts.drop([interval(1, 3), interval(2, 4)])
    assert list(parts.present()) == [interval(n, n + 2) for n in (0, 3, 4)]
    put(parts, interval(7, 9), -1)
    assert len(parts) == 4
    parts.forget(interval(7, 9))
    assert len(parts) == 3


def test_parts_can_be_stored():
    parts = Parts()
    for n in range(40):
        put(parts, interval(n, n + 2), 1)
    put(parts, interval(50, 60), -1)
    again = Parts.thaw(pickle.loads(pickle.dumps(parts.freeze())))
    assert again == parts
    assert list(again.present()) == list(parts.present())
    assert again.total((0,), (99,), SUM) == (40, 40)
