"""What a runner made of a published figure, and whether that is what was published."""

from __future__ import annotations

import json
import logging
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs

import headrace as hr
from headrace.testing import TestPipeline
from tests.conformance import programs
from tests.conformance.programs import Listener, NotExpressibleError, beam
from tests.figures import Case

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from apache_beam.options.pipeline_options import PipelineOptions

RIGHT = "right"
VALUES = "values right"
WRONG = "wrong"
STOPPED = "stopped"
NOT_EXPRESSIBLE = "not expressible"

VALUE_DETAILS = ("value", "diff")

Row = dict[str, Any]


@attrs.frozen
class Verdict:
    """What came of a program on a runner.

    Attributes:
        word: one of the words above.
        why: what came out in place of what was published, a line for each window; what Beam has no word
            for; or what the runner said when it stopped.
    """

    word: str
    why: tuple[str, ...] = ()


@attrs.frozen
class Runner:
    """A runner by the name that its SDK gives it, with the flags that it needs."""

    title: str
    module: Any
    name: str
    flags: tuple[str, ...] = ()

    def pipeline(self) -> Any:
        if self.module is hr:
            return TestPipeline(self.name, argv=[*self.flags])
        return beam.Pipeline(self.name, PipelineOptions(["--streaming", *self.flags]))


LOCAL = Runner("Headrace, local", hr, "local")
BUNDLES = Runner("Beam, bundle-based runner", beam, "BundleBasedDirectRunner")


def prism(binary: str) -> Runner:
    """Beam's Prism, by the path of its program."""
    return Runner("Beam, Prism", beam, "PrismRunner", (f"--prism_location={binary}",))


def judge(case: Case, runner: Runner) -> Verdict:
    """Run a figure on a runner, and compare what comes out."""
    with tempfile.TemporaryDirectory() as folder:
        listener = Listener(str(Path(folder, "panes.jsonl")))
        try:
            run(programs.figure(runner.module, case, listener), runner)
        except NotExpressibleError as missing:
            return Verdict(NOT_EXPRESSIBLE, (str(missing),))
        except Exception as error:  # noqa: BLE001 - whatever stops a runner is its answer
            until_then = compare(case, heard(Path(listener.path))).why
            return Verdict(STOPPED, (_first_line(error), *until_then))
        return compare(case, heard(Path(listener.path)))


def run(program: Any, runner: Runner) -> None:
    """Run a program, without what the runner logs and warns of."""
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with runner.pipeline() as p:
                program(p)
    finally:
        logging.disable(logging.NOTSET)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:160] if str(error) else ''}"


def heard(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def compare(case: Case, found: Sequence[Row]) -> Verdict:
    """What was published against what came out, window by window; order across windows is left aside."""
    expected, said = by_window(map(programs.spelt, case.panes)), by_window(found)
    windows = sorted({*expected, *said})
    wrong = [w for w in windows if not agree(expected[w], said[w], details=False)]
    other = [w for w in windows if not agree(expected[w], said[w], details=True)]
    if not other:
        return Verdict(RIGHT)
    misses = [f"{window_text(w)}: {told(said[w])}; published {told(expected[w])}" for w in other]
    return Verdict(WRONG if wrong else VALUES, tuple(misses))


def by_window(rows: Iterable[Row]) -> dict[tuple[int, int], list[Row]]:
    found: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in rows:
        start, end = row["window"]
        found[start, end].append(row)
    return found


def agree(expected: Sequence[Row], said: Sequence[Row], details: bool) -> bool:
    """Whether all panes of a window are as published, as far as the text says something about them."""
    names = [[n for n in row if n != "window" and (details or n in VALUE_DETAILS)] for row in expected]
    return len(expected) == len(said) and all(
        row[name] == other[name]
        for row, other, known in zip(expected, said, names, strict=True)
        for name in known
    )


def window_text(window: tuple[int, int]) -> str:
    bounds = hr.window.GlobalWindow()
    if window[0] == bounds.start.micros:
        return "global"
    end = "the end" if window[1] == bounds.end.micros else _clock(window[1])
    return f"[{_clock(window[0])}, {end})"


def _clock(micros: int) -> str:
    seconds, rest = divmod(micros, 1_000_000)
    text = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + f".{rest // 100_000}" * bool(rest)


def told(rows: Sequence[Row]) -> str:
    return ", ".join(map(_pane_text, rows)) or "nothing"


def _pane_text(row: Row) -> str:
    known = [row[name] for name in ("timing", "index") if name in row]
    marks = [name for name in ("first", "last") if row.get(name)]
    details = " ".join(map(str, [*known, *marks]))
    return f"{row['value']} ({details})" if details else str(row["value"])
