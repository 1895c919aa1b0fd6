"""The check of a program: all three ways give the same, except where Beam is known to differ."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.beam.judge.twin.disputes import cannot_run, disputed, loses_panes, why_stopped
from tests.beam.judge.twin.dofns import Seen
from tests.beam.judge.twin.language import GROUPING, Program
from tests.beam.judge.twin.running import BEAMS, OURS, Outputs, by_beam, natively

IN_BATCHES = "FnApiRunner"
MILLISECOND = 1_000


def check(program: Program, streaming: bool, counts: Counter[str]) -> None:
    """Assert that a program gives the same in all three ways; count what was compared."""
    native = natively(program, streaming)
    translated = by_beam(program, OURS, streaming)
    assert_same("HeadraceRunner", program, translated, native)
    counts["compared with the native program"] += 1
    check_with_beam(program, streaming, native, counts)


def assert_same(who: str, program: Program, theirs: Outputs, ours: Outputs) -> None:
    """Assert that all collections are the same in all that elements say.

    Beam's calls, which we use, give a DoFn that asks for the window no pane of an element in several windows.
    """
    for n, (one, other) in enumerate(zip(theirs, ours, strict=True)):
        if loses_panes(program, n):
            one, other = _without_panes(one), _without_panes(other)
        _assert_equal(who, program, n, one, other)


def _without_panes(rows: list[Seen]) -> list[Seen]:
    return sorted(row._replace(pane=()) for row in rows)


def _assert_equal(who: str, program: Program, n: int, theirs: list[Any], ours: list[Any]) -> None:
    if theirs != ours:
        missing, more = Counter(ours) - Counter(theirs), Counter(theirs) - Counter(ours)
        raise AssertionError(
            f"collection {n} of {program}\n on {who} lacks {[*missing]}\n and has {[*more]}"
        )


def check_with_beam(
    program: Program, streaming: bool, native: Outputs, counts: Counter[str]
) -> None:
    """Assert that Beam's own runner gives the same, except where it is known to differ."""
    fault = cannot_run(program, streaming)
    if not fault:
        try:
            theirs = by_beam(program, BEAMS if streaming else IN_BATCHES, streaming)
        except Exception as error:
            fault = why_stopped(program, streaming, error)
            if not fault:
                raise AssertionError(f"{program} stops on Beam's runner: {error!r}") from error
    if fault:
        counts[f"dispute: {fault}"] += 1
        return
    known = disputed(program, streaming)
    counts.update(f"dispute: {name}" for name in known)
    left_out = set().union(*known.values())
    for n, (one, other) in enumerate(zip(theirs, native, strict=True)):
        if n not in left_out:
            compare = [_comparable(program, n, rows, streaming) for rows in (one, other)]
            _assert_equal("Beam's runner", program, n, *compare)
    counts["compared with Beam"] += 1
    counts["collections compared with Beam"] += len(native) - len(left_out)
    counts["collections"] += len(native)


def _comparable(program: Program, n: int, rows: list[Seen], streaming: bool) -> list[Any]:
    """Return what can be compared: in batches milliseconds, which is all that Beam has there."""
    grain = 1 if streaming else MILLISECOND
    numbered = streaming and _is_grouping(program, n)
    return sorted(
        (row.value, row.window, row.timestamp // grain, row.pane[1] if numbered else 0)
        for row in rows
    )


def _is_grouping(program: Program, n: int) -> bool:
    pairs = zip(program.nodes, program.outputs, strict=True)
    return any(n in made and node.kind in GROUPING - {"globally"} for node, made in pairs)
