"""Runs on Spark whose side inputs are in files have the results of local runs, and leave no files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.options import PipelineOptions
from headrace.testing import capture
from headrace.transforms.userstate import CombiningValueStateSpec
from headrace.windowing import FixedWindows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def look_up(word: str, table: dict[str, int], places: list[str]) -> tuple[Any, ...]:
    """What a word sees, and the names of all files in some places."""
    files = [name for place in places for _, _, names in os.walk(place) for name in names]
    return word, table[word], len(table), [name for name in files if len(name) == 64]


class LookUp(hr.DoFn):
    """The same for the words of a key, and how many of them there were before."""

    SEEN = CombiningValueStateSpec("seen", sum)

    def process(
        self,
        pair: Any,
        table: dict[str, int],
        places: list[str],
        seen: Any = hr.DoFn.StateParam(SEEN),
    ) -> Any:
        word, found, size, names = look_up(pair[1], table, places)
        yield word, (found, seen.read()), size, names
        seen.add(1)


def run(*flags: str, places: list[Path]) -> list[Any]:
    """Look words up in a Map and in a stateful DoFn; return what they see."""
    with hr.Pipeline(options=PipelineOptions(flags)) as p:
        words = [hr.TimestampedValue((f"word {n}", n), n % 20) for n in range(400)]
        side = p | "side" >> hr.Create(words) | "of" >> hr.WindowInto(FixedWindows(10))
        some = [hr.TimestampedValue(f"word {n}", n % 20) for n in range(0, 400, 37)]
        main = p | "main" >> hr.Create(some) | "own" >> hr.WindowInto(FixedWindows(5))
        arguments = hr.AsDict(side), [str(place) for place in places]
        seen = capture(main | hr.Map(look_up, *arguments), "seen")
        keyed = main | hr.WithKeys(lambda word: word[-1])
        seen_by_key = capture(keyed | hr.ParDo(LookUp(), *arguments), "seen by key")
    return [*sorted(seen.values), *sorted(seen_by_key.values)]


FLAGS = ["--runner=spark", "--key-groups=2", "--side-input-bytes=1000"]


def test_a_job(tmp_path):
    seen = run(*FLAGS, f"--temp-location={tmp_path}", places=[tmp_path])
    assert [found[:3] for found in seen] == [found[:3] for found in run(places=[])]
    assert {len(files) for *_, files in seen} == {2}
    assert list(tmp_path.iterdir()) == []


def test_a_query(tmp_path):
    checkpoint = tmp_path / "checkpoint"
    place = checkpoint / "side-inputs"
    seen = run(*FLAGS, "--streaming", f"--checkpoint={checkpoint}", places=[place])
    assert [found[:3] for found in seen] == [found[:3] for found in run(places=[])]
    assert {len(files) for *_, files in seen} == {2}
    assert checkpoint.exists()
    assert not place.exists()
