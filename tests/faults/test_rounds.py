"""SourceRounds of sources: what is recorded of a round brings it again, in another process, after changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

import headrace as hr
from headrace.io import Batch, BoundedSource, UnboundedSource
from headrace.options import PipelineOptions
from headrace.runners import source_rounds as under_test
from headrace.runners.local.feeding import feed_for
from headrace.runners.source_rounds import FORMAT, Position, SourceRounds, drained, position_of
from headrace.sdk.graph import Read
from headrace.windowing.time import MAX_MICROS
from tests.faults.runs import append, write
from tests.runners.sources import DONE, Lines, SteppedClock, Topic, at


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SteppedClock:
    stepped = SteppedClock()
    monkeypatch.setattr(under_test, "_wall", stepped.now)
    return stepped


def reading(*sources: Any, policy: Any = None) -> tuple[Read, ...]:
    p = hr.Pipeline(options=PipelineOptions([]))
    for number, source in enumerate(sources):
        _ = p | str(number) >> hr.Read(source, policy)
    return tuple(p.graph)


def rounds(*sources: Any, policy: Any = None, limit: int = 100) -> SourceRounds:
    return SourceRounds(reading(*sources, policy=policy), limit, heartbeat=0)


def logged(position: Position) -> Position:
    """A position as it comes out of the offset log."""
    return position_of(json.loads(json.dumps(position.as_json())))


def values(bundles: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {
        label: [value for bundle in each for _, value in bundle.values]
        for label, each in bundles.items()
    }


IDLE = {
    "p": [[at(1, "a")], *([at(30 + n, "b")] if n % 2 else [] for n in range(9)), DONE],
    "q": [[at(3, "c")], *[[]] * 12, DONE],
    "r": [Batch([at(50, "d")], None, finished=True)],
}


@pytest.mark.parametrize("policy", [hr.Monotonic(), hr.Monotonic(idle_timeout=3), None])
def test_each_round_is_the_local_runners_even_if_each_is_in_a_new_process(clock, policy):
    """Elements and watermarks, partition by partition, idle or not; and so is each round's replay."""
    (node,) = reading(Topic(IDLE), policy=policy)
    local = feed_for(node, False, clock, 100)
    position = rounds(Topic(IDLE), policy=policy).begin()
    while not position.done:
        after, bundles = rounds(Topic(IDLE), policy=policy).go_on(logged(position))
        expected = [value for bundle in local.poll(clock.now()) for _, value in bundle.values]
        assert values(bundles) == {"0": expected}
        assert after.watermarks == {"0": local.watermark}
        again = rounds(Topic(IDLE), policy=policy).again(logged(position), logged(after))
        assert values(again) == values(bundles)
        position = after
        clock.seconds += 1
    assert local.done


def test_a_replay_brings_the_recorded_number_of_records_though_there_are_more_by_now(
    clock, tmp_path
):
    source = write(tmp_path / "lines", p=["1 a 1", "2 a 2"])
    before = rounds(source).begin()
    after, _ = rounds(source).go_on(before)
    append(tmp_path / "lines", "p", "3 a 3")
    assert values(rounds(source).again(before, logged(after))) == {"0": [1, 2]}
    assert values(rounds(source).go_on(logged(after))[1]) == {"0": [3]}


class Looks(UnboundedSource):
    """What it brings is known only after a look, which brings nothing itself."""

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[Any]:
        return Batch([] if offset is None else [("it", "found")], next_offset="looked")


def test_a_round_that_only_learned_where_to_read_on_counts(clock):
    seldom = SourceRounds(reading(Looks()), limit=100, heartbeat=60_000_000)
    looked, bundles = seldom.go_on(seldom.begin())
    assert values(bundles) == {"0": []}
    assert values(seldom.go_on(looked)[1]) == {"0": ["found"]}


def test_records_that_are_gone_when_they_are_wanted_again(clock, tmp_path):
    source = write(tmp_path / "lines", p=["1 a 1", "2 a 2"])
    before = rounds(source).begin()
    after, _ = rounds(source).go_on(before)
    write(tmp_path / "lines", p=["1 a 1"])
    with pytest.raises(hr.PipelineError, match=r"gave 2 records .* and gives 1 now"):
        rounds(source).again(before, after)


@pytest.mark.parametrize("kind", ["unbounded", "bounded"])
def test_partitions_that_are_new_are_read_from_their_beginning(clock, tmp_path, kind):
    """Partitions are known by their names: a new one may come in front of the others."""

    def source(**partitions: list[str]) -> Any:
        if kind == "unbounded":
            return write(tmp_path / "lines", **partitions)
        values = {
            n: [at(i, int(v.split()[2])) for i, v in enumerate(p)] for n, p in partitions.items()
        }
        return Lines(values)

    old = source(b=["1 a 1", "2 a 2", "3 a 3"])
    before = rounds(old, limit=1).begin()
    position, _ = rounds(old, limit=1).go_on(before)
    new = source(a=["1 a 11", "1 a 12"], b=["1 a 1", "2 a 2", "3 a 3"])
    assert values(rounds(new).again(before, position)) == {"0": [1]}
    after, bundles = rounds(new, limit=1).go_on(logged(position))
    assert sorted(values(bundles)["0"]) == [2, 11]
    assert sorted(values(rounds(new).again(position, logged(after)))["0"]) == [2, 11]
    assert sorted(values(rounds(new, limit=1).go_on(after)[1])["0"]) == [3, 12]


def test_partitions_that_are_gone(clock, tmp_path):
    """One that was read to its end may go; any other not."""
    source = write(tmp_path / "lines", a=["1 a 1", "end"], b=["1 b 2"])
    position, _ = rounds(source).go_on(rounds(source).begin())
    (tmp_path / "lines" / "a").unlink()
    append(tmp_path / "lines", "b", "2 b 3")
    position, bundles = rounds(source).go_on(position)
    assert values(bundles) == {"0": [3]}
    (tmp_path / "lines" / "b").unlink()
    with pytest.raises(hr.PipelineError, match="no partition 'b' any more") as error:
        rounds(source).go_on(position)
    assert error.value.where == "0"


def test_a_source_that_is_new_is_read_from_its_beginning(clock):
    first, second = Topic({"p": [[at(1, "a")], DONE]}), Topic({"p": [[at(2, "b")], DONE]})
    before = rounds(first).begin()
    position, _ = rounds(first).go_on(before)
    both = rounds(first, second)
    assert values(both.again(before, position)) == {"0": ["a"]}
    position, bundles = both.go_on(logged(position))
    assert values(bundles) == {"0": [], "1": ["b"]}
    assert both.go_on(position)[0].done


def test_a_source_that_is_new_keeps_a_run_from_being_over(clock):
    first, second = Topic({"p": [DONE]}), Topic({"p": [[at(2, "b")], DONE]})
    position, _ = rounds(first).go_on(rounds(first).begin())
    assert position.done
    assert rounds(first).over(position)
    assert not rounds(first, second).over(position)


def test_a_bounded_source_is_opened_once_though_it_is_read_in_many_rounds(clock):
    opened = []

    class Counted(BoundedSource):
        def read(self, partition: Any) -> Any:
            opened.append(partition)
            return [at(n, n) for n in range(10)]

    whole = rounds(Counted(), limit=2)
    position = whole.begin()
    while not position.done:
        position, _ = whole.go_on(position)
    assert len(opened) == 1


def test_a_drained_position_is_at_the_end_of_time(clock):
    position, _ = rounds(Topic(IDLE)).go_on(rounds(Topic(IDLE)).begin())
    end = logged(drained(position))
    assert end.done
    assert end.watermarks == {"0": MAX_MICROS}
    assert values(rounds(Topic(IDLE)).again(position, end)) == {"0": []}


def test_a_position_of_another_format_or_none_at_all():
    position = Position(1, 0, {})
    with pytest.raises(hr.PipelineError, match=rf"format {FORMAT + 1}.* reads format {FORMAT}"):
        position_of({**position.as_json(), "format": FORMAT + 1})
    damaged = [{}, {"format": FORMAT}, {**position.as_json(), "position": "gAR"}]
    for offset in damaged:
        with pytest.raises(hr.PipelineError, match="the checkpoint is damaged"):
            position_of(offset)
