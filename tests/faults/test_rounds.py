"""Source rounds: the recorded end of a round brings the same records again, also in another process."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

import headrace as hr
from headrace.io import Batch, BoundedSource, UnboundedSource
from headrace.options import PipelineOptions
from headrace.runners.sources import source_rounds
from headrace.runners.sources.source_positions import Position, drained, position_of
from headrace.runners.sources.source_rounds import SourceRounds
from headrace.sdk.pipelines.graph import Read
from headrace.stored_formats import POSITIONS
from headrace.windowing.time.timestamps import MAX_MICROS
from tests.faults.runs import append, write
from tests.unit.runners.sources import DONE, Lines, SteppedClock, Topic, at


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SteppedClock:
    stepped = SteppedClock()
    monkeypatch.setattr(source_rounds, "wall_micros", stepped.now)
    return stepped


def reading(*sources: Any, policy: Any = None) -> tuple[Read, ...]:
    p = hr.Pipeline(options=PipelineOptions([]))
    for number, source in enumerate(sources):
        _ = p | str(number) >> hr.Read(source, policy)
    return tuple(node for node in p.graph if isinstance(node, Read))


def rounds(*sources: Any, policy: Any = None, limit: int = 100) -> SourceRounds:
    reads = reading(*sources, policy=policy)
    return SourceRounds(reads, limit, heartbeat=0, wall=lambda: source_rounds.wall_micros())


def logged(position: Position) -> Position:
    """A position as it is read from the offset log."""
    return position_of(json.loads(json.dumps(position.as_json())))


def values(bundles: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {
        label: [value for bundle in each for _, value in bundle.values]
        for label, each in bundles.items()
    }


IDLE: dict[str, list[Any]] = {
    "p": [[at(1, "a")], *([at(30 + n, "b")] if n % 2 else [] for n in range(9)), DONE],
    "q": [[at(3, "c")], *[[]] * 12, DONE],
    "r": [Batch([at(50, "d")], None, finished=True)],
}


@pytest.mark.parametrize("policy", [hr.Monotonic(), hr.Monotonic(idle_timeout=3), None])
def test_a_round_is_the_same_if_each_is_read_in_a_new_process(clock, policy):
    """Elements and watermarks, partition by partition, idle or not; and so is each round's replay."""
    same_process = rounds(Topic(IDLE), policy=policy)
    position = same_process.start()
    while not position.done:
        expected = same_process.read(position)
        after, bundles = rounds(Topic(IDLE), policy=policy).read(logged(position))
        assert (after.watermarks, values(bundles)) == (expected[0].watermarks, values(expected[1]))
        again = rounds(Topic(IDLE), policy=policy).replay(logged(position), logged(after))
        assert values(again) == values(bundles)
        position = expected[0]
        clock.seconds += 1


def test_a_replay_brings_the_recorded_number_of_records_though_there_are_more_by_now(
    clock, tmp_path
):
    source = write(tmp_path / "lines", p=["1 a 1", "2 a 2"])
    before = rounds(source).start()
    after, _ = rounds(source).read(before)
    append(tmp_path / "lines", "p", "3 a 3")
    assert values(rounds(source).replay(before, logged(after))) == {"0": [1, 2]}
    assert values(rounds(source).read(logged(after))[1]) == {"0": [3]}


class Looks(UnboundedSource):
    """A source that first returns no records, only an offset."""

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[Any]:
        return Batch([] if offset is None else [("it", "found")], next_offset="looked")


def test_a_round_that_only_learned_where_to_read_on_counts(clock):
    seldom = SourceRounds(reading(Looks()), limit=100, heartbeat=60_000_000)
    looked, bundles = seldom.read(seldom.start())
    assert values(bundles) == {"0": []}
    assert values(seldom.read(looked)[1]) == {"0": ["found"]}


def test_records_that_are_gone_when_they_are_wanted_again(clock, tmp_path):
    source = write(tmp_path / "lines", p=["1 a 1", "2 a 2"])
    before = rounds(source).start()
    after, _ = rounds(source).read(before)
    write(tmp_path / "lines", p=["1 a 1"])
    with pytest.raises(hr.PipelineError, match=r"returned 2 records .* but returns 1 now"):
        rounds(source).replay(before, after)


@pytest.mark.parametrize("kind", ["unbounded", "bounded"])
def test_partitions_that_are_new_are_read_from_their_beginning(clock, tmp_path, kind):
    """Partitions are identified by name: a new one may come before the others."""

    def source(**partitions: list[str]) -> Any:
        if kind == "unbounded":
            return write(tmp_path / "lines", **partitions)
        values: dict[str, Iterable[Any]] = {
            n: [at(i, int(v.split()[2])) for i, v in enumerate(p)] for n, p in partitions.items()
        }
        return Lines(values)

    old = source(b=["1 a 1", "2 a 2", "3 a 3"])
    before = rounds(old, limit=1).start()
    position, _ = rounds(old, limit=1).read(before)
    new = source(a=["1 a 11", "1 a 12"], b=["1 a 1", "2 a 2", "3 a 3"])
    assert values(rounds(new).replay(before, position)) == {"0": [1]}
    after, bundles = rounds(new, limit=1).read(logged(position))
    assert sorted(values(bundles)["0"]) == [2, 11]
    assert sorted(values(rounds(new).replay(position, logged(after)))["0"]) == [2, 11]
    assert sorted(values(rounds(new, limit=1).read(after)[1])["0"]) == [3, 12]


def test_partitions_that_are_gone(clock, tmp_path):
    """A partition that was read to its end may be removed, and no other."""
    source = write(tmp_path / "lines", a=["1 a 1", "end"], b=["1 b 2"])
    position, _ = rounds(source).read(rounds(source).start())
    (tmp_path / "lines" / "a").unlink()
    append(tmp_path / "lines", "b", "2 b 3")
    position, bundles = rounds(source).read(position)
    assert values(bundles) == {"0": [3]}
    (tmp_path / "lines" / "b").unlink()
    with pytest.raises(hr.PipelineError, match="no longer has the partition 'b'") as error:
        rounds(source).read(position)
    assert error.value.where == "0"


def test_a_source_that_is_new_is_read_from_its_beginning(clock):
    first, second = Topic({"p": [[at(1, "a")], DONE]}), Topic({"p": [[at(2, "b")], DONE]})
    before = rounds(first).start()
    position, _ = rounds(first).read(before)
    both = rounds(first, second)
    assert values(both.replay(before, position)) == {"0": ["a"]}
    position, bundles = both.read(logged(position))
    assert values(bundles) == {"0": [], "1": ["b"]}
    assert both.read(position)[0].done


def test_a_source_that_is_new_keeps_a_run_from_being_over(clock):
    first, second = Topic({"p": [DONE]}), Topic({"p": [[at(2, "b")], DONE]})
    position, _ = rounds(first).read(rounds(first).start())
    assert position.done
    assert rounds(first).is_finished(position)
    assert not rounds(first, second).is_finished(position)


def test_a_bounded_source_is_opened_once_though_it_is_read_in_many_rounds(clock):
    opened = []

    class Counted(BoundedSource):
        def read(self, partition: Any) -> Any:
            opened.append(partition)
            return [at(n, n) for n in range(10)]

    whole = rounds(Counted(), limit=2)
    position = whole.start()
    while not position.done:
        position, _ = whole.read(position)
    assert len(opened) == 1


def test_a_drained_position_is_at_the_end_of_time(clock):
    position, _ = rounds(Topic(IDLE)).read(rounds(Topic(IDLE)).start())
    end = logged(drained(position))
    assert end.done
    assert end.watermarks == {"0": MAX_MICROS}
    assert values(rounds(Topic(IDLE)).replay(position, end)) == {"0": []}


def test_a_source_that_is_new_is_drained_with_the_others(clock):
    position, _ = rounds(Topic(IDLE)).read(rounds(Topic(IDLE)).start())
    both = rounds(Topic(IDLE), Topic({"p": [[at(2, "b")]]}))
    end = logged(both.drained(position))
    assert end.watermarks == {"0": MAX_MICROS, "1": MAX_MICROS}
    assert both.is_finished(end)
    assert values(both.replay(position, end)) == {"0": [], "1": []}


def test_a_position_of_another_format_or_none_at_all():
    position = Position(1, 0, {})
    with pytest.raises(
        hr.PipelineError, match=rf"format {POSITIONS + 1}.* reads formats? .*{POSITIONS}"
    ):
        position_of({**position.as_json(), "format": POSITIONS + 1})
    damaged = [{}, {"format": POSITIONS}, {**position.as_json(), "position": "gAR"}]
    for offset in damaged:
        with pytest.raises(hr.PipelineError, match="the checkpoint is damaged"):
            position_of(offset)
