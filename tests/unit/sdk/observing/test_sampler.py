"""Samples follow the same few keys everywhere, see all their panes, and take little time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import attrs
from hypothesis import given, strategies as st

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.runners.engine.sampler import (
    ALLOWANCE,
    LOOKED_AT,
    SAMPLED_KEYS,
    SAMPLED_RECORDS,
    SHARE,
    Budget,
    Sampler,
)
from headrace.sdk.pipelines.graph import Collection
from headrace.windowing.window import GLOBAL_WINDOW, interval
from headrace.windowing.window_fn import Windows

ANY_TIME = Budget(lambda: 0.0)


def elements(keys: list[int]) -> Bundle:
    return Bundle([(key, n) for n, key in enumerate(keys)], list(range(len(keys))))


def sampled(sampler: Sampler, bundles: list[Bundle]) -> None:
    receive = sampler.receiving(lambda bundle: None)
    for bundle in bundles:
        receive(bundle)


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=20), max_size=8))
def test_the_keys_with_the_smallest_hashes_are_followed(parts: list[list[int]]) -> None:
    sampler = Sampler(ANY_TIME)
    sampled(sampler, [elements(part) for part in parts])
    every = [key for part in parts for key in part]
    lowest = sorted(set(every))[:SAMPLED_KEYS]
    found = [record.key for record in sampler.take(0).elements]
    for key in lowest:
        assert found.count(str(key)) == every.count(key)
    assert sampler.take(0).elements == []


def test_of_a_large_bundle_some_elements_are_looked_at() -> None:
    sampler = Sampler(ANY_TIME)
    sampled(sampler, [elements([7] * 10_000)])
    assert LOOKED_AT / 2 < len(sampler.take(0).elements) <= LOOKED_AT


def collection() -> Collection:
    p = hr.Pipeline()
    return (p | hr.Create([("a", 1)])).collection


def panes(number: int) -> Bundle:
    windows: list[Windows] = [(interval(n, n + 1),) for n in range(number)]
    return Bundle([("a", n) for n in range(number)], list(range(number)), windows)


def test_all_panes_are_seen_up_to_a_limit() -> None:
    sampler, sent = Sampler(ANY_TIME), []
    send = sampler.sending(lambda collection, bundle: sent.append(len(bundle)))
    main = collection()
    late = attrs.evolve(main, tag="late")
    send(main, panes(SAMPLED_RECORDS - 1))
    send(late, panes(3))
    send(main, panes(5))
    found = sampler.take(0).panes
    assert sent == [SAMPLED_RECORDS - 1, 3, 5]
    assert [record.start for record in found] == [*range(SAMPLED_RECORDS - 1), 0]


def test_values_are_short_and_numbers_stay_numbers() -> None:
    sampler = Sampler(ANY_TIME)
    values = [(("k", 1), [0] * 999), (("k", 1), "x" * 999), (("k", 1), 2.5)]
    sampled(sampler, [Bundle(values, [0, 1, 2], [(GLOBAL_WINDOW,)] * 3)])
    records = sampler.take(0).elements
    assert {record.key for record in records} == {"('k', 1)"}
    assert [record.value for record in records] == ["[0, 0, 0, 0, ...]", "x" * 60, 2.5]


def ticks(seconds: float) -> Iterator[float]:
    return (n * seconds for n in count())


def test_sampling_keeps_to_its_share_of_the_time() -> None:
    clock = ticks(0.001)
    budget, looked = Budget(lambda: next(clock)), 0

    def look(bundle: Bundle) -> None:
        nonlocal looked
        looked += 1

    rounds = 100_000
    for _ in range(rounds):
        budget.spend(look, Bundle([]))
    elapsed = next(clock)
    assert 0 < looked * 0.001 <= ALLOWANCE + SHARE * elapsed + 0.001
    assert looked * 0.001 >= SHARE * elapsed
