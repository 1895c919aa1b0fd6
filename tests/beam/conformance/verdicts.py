"""Runs a published figure on a runner, and compares the result with the publication."""

from __future__ import annotations

import json
import logging
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

import headrace as hr
from headrace.testing import TestPipeline
from tests.beam.conformance import programs
from tests.beam.conformance.programs import NotExpressibleError, PaneCollector
from tests.model.figures import Case

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
    from apache_beam.testing.test_pipeline import TestPipeline as BeamPipeline

RIGHT = "right"
VALUES = "values right"
WRONG = "wrong"
STOPPED = "stopped"
NOT_EXPRESSIBLE = "not expressible"

VALUE_DETAILS = ("value", "diff")

Row = dict[str, Any]


@attrs.frozen
class Verdict:
    """The result of a program on a runner.

    Attributes:
        word: one of the words above.
        why: the panes that differ from the publication, one line per window; or what Beam has no
            equivalent of; or the error with which the runner stopped.
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

    def pipeline(self, options: Any = None) -> Any:
        """A pipeline on this runner; ``options`` only say whether it streams."""
        if self.module is hr:
            return TestPipeline(self.name, argv=[*self.flags])
        streaming = options is None or options.view_as(StandardOptions).streaming
        flags = ["--streaming"] * streaming + [*self.flags]
        return BeamPipeline(self.name, PipelineOptions(flags))


LOCAL = Runner("Headrace, local", hr, "local")
BUNDLES = Runner("Beam, bundle-based runner", beam, "BundleBasedDirectRunner")


def prism(binary: str) -> Runner:
    """Beam's Prism, by the path of its program."""
    return Runner("Beam, Prism", beam, "PrismRunner", (f"--prism_location={binary}",))


def judge_program(name: str, runner: Runner) -> Verdict:
    """Run a pane program of the suite on a runner: its own assertions decide."""
    with silenced():
        try:
            programs.pane_program(name, runner.module, runner.pipeline)()
        except Exception as error:  # whatever stops a runner is its answer
            return Verdict(STOPPED, (first_line(error),))
    return Verdict(RIGHT)


def judge(case: Case, runner: Runner) -> Verdict:
    """Run a figure on a runner, and compare the panes."""
    with tempfile.TemporaryDirectory() as folder:
        collector = PaneCollector(str(Path(folder, "panes.jsonl")))
        try:
            run(programs.figure(runner.module, case, collector), runner)
        except NotExpressibleError as missing:
            return Verdict(NOT_EXPRESSIBLE, (str(missing),))
        except Exception as error:  # whatever stops a runner is its answer
            found = collected_panes(Path(collector.path), runner)
            until_then = compare(case, found).why if found else ()
            return Verdict(STOPPED, (first_line(error), *until_then))
        return compare(case, collected_panes(Path(collector.path), runner))


def run(program: Any, runner: Runner) -> None:
    """Run a program."""
    with silenced(), runner.pipeline() as p:
        program(p)


@contextmanager
def silenced() -> Iterator[None]:
    """Suppress the logs and warnings of runners."""
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


STALLED = "exceptions must derive from BaseException"
"""The error that Beam's bundle-based runner raises when it means to report a stall."""


def first_line(error: Exception) -> str:
    """The error with which a runner stopped, in one line."""
    if STALLED in str(error):
        return "the runner stops as stalled: something holds the watermark for good"
    message = str(error.details()) if hasattr(error, "details") else str(error)
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    relevant = lines[-1:] if "Traceback" in message else lines[:4]
    return f"{type(error).__name__}: {' '.join(relevant)}"[:240]


def collected_panes(path: Path, runner: Runner) -> list[Row]:
    """The collected panes; Beam's are sorted by index, since bundles may run in parallel."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return rows if runner.module is hr else sorted(rows, key=lambda row: row["index"])


def compare(case: Case, found: Sequence[Row]) -> Verdict:
    """Compare the published and the collected panes per window; there is no order across windows."""
    expected, actual = by_window(map(programs.as_row, case.panes)), by_window(found)
    windows = sorted({*expected, *actual})
    wrong = [w for w in windows if not agree(expected[w], actual[w], details=False)]
    differing = [w for w in windows if not agree(expected[w], actual[w], details=True)]
    if not differing:
        return Verdict(RIGHT)
    misses = [
        f"{window_text(w)}: {panes_text(actual[w])}; published {panes_text(expected[w])}"
        for w in differing
    ]
    return Verdict(WRONG if wrong else VALUES, tuple(misses))


def by_window(rows: Iterable[Row]) -> dict[tuple[int, int], list[Row]]:
    found: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in rows:
        start, end = row["window"]
        found[start, end].append(row)
    return found


def agree(expected: Sequence[Row], actual: Sequence[Row], details: bool) -> bool:
    """Whether all panes of a window are as published, as far as the publication specifies them."""
    names = [
        [n for n in row if n != "window" and (details or n in VALUE_DETAILS)] for row in expected
    ]
    return len(expected) == len(actual) and all(
        row[name] == differing[name]
        for row, differing, known in zip(expected, actual, names, strict=True)
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


def panes_text(rows: Sequence[Row]) -> str:
    return ", ".join(map(_pane_text, rows)) or "nothing"


def _pane_text(row: Row) -> str:
    known = [row[name] for name in ("timing", "index") if name in row]
    marks = [name for name in ("first", "last") if row.get(name)]
    details = " ".join(map(str, [*known, *marks]))
    return f"{row['value']} ({details})" if details else str(row["value"])
