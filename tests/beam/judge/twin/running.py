"""Runs programs: by `apache_beam` on one of Beam's runners or on ours, and natively on the local runner."""

from __future__ import annotations

import ast
import signal
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from headrace.sdk.beam.judge.beam_pipelines import flags
from headrace.sdk.beam.judge.in_beam import beam
from headrace.sdk.beam.judge.playing import silenced
from headrace.sdk.testing.runs.run import unchecked_pipeline
from tests.beam.judge.twin.dofns import SEEN, Seen, module
from tests.beam.judge.twin.language import Program
from tests.beam.judge.twin.transforms import build

Outputs = list[list[Seen]]
"""The elements of each collection of a program, sorted."""

OURS = "headrace.beam.HeadraceRunner"
BEAMS = "BundleBasedDirectRunner"

_RUNS = count()

LIMIT = 120.0
"""Seconds in which a program has to end."""


@cache
def _options(streaming: bool) -> Any:
    return module("beam", "options.pipeline_options").PipelineOptions(flags(streaming))


class DidNotEndError(Exception):
    """A Beam runner has not ended a program in time."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stop what takes longer, in the main thread."""

    def stop(*_: object) -> None:
        raise DidNotEndError(f"not ended in {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def by_beam(program: Program, runner: Any, streaming: bool) -> Outputs:
    """Run a program by `apache_beam` on a runner in this process."""
    prefix = _next_run()
    with silenced(), limited(LIMIT):
        p = beam().Pipeline(runner, _options(streaming))
        build(p, program, "beam", streaming, prefix=prefix)
        p.run().wait_until_finish()
    return _outputs(program, SEEN, prefix)


def natively(program: Program, streaming: bool) -> Outputs:
    """Run a program of Headrace's own transforms on the local runner."""
    prefix = _next_run()
    with silenced(), unchecked_pipeline() as p:
        build(p, program, "headrace", streaming, prefix=prefix)
        p.run()
    return _outputs(program, SEEN, prefix)


def _next_run() -> str:
    """Forget what was seen, and return a prefix for a run: one that was stopped may go on in its threads."""
    SEEN.clear()
    return f"run {next(_RUNS)} "


def packed_by_beam(
    pack: Sequence[Program], runner: Any, streaming: bool, path: str
) -> list[Outputs]:
    """Run programs as one pipeline by `apache_beam`, on any runner whose workers reach a file."""
    with silenced():
        p = beam().Pipeline(runner, _options(streaming))
        for n, program in enumerate(pack):
            build(p, program, "beam", streaming, path, prefix=_prefix(n))
        p.run(test_runner_api=False).wait_until_finish()
    lines = Path(path).read_text().splitlines() if Path(path).exists() else []
    rows = [(name, Seen(*row)) for name, *row in map(ast.literal_eval, lines)]
    return _packed(pack, rows)


def packed_natively(pack: Sequence[Program], streaming: bool) -> list[Outputs]:
    """Run programs as one pipeline of Headrace's own transforms, on the local runner."""
    SEEN.clear()
    with silenced(), unchecked_pipeline() as p:
        for n, program in enumerate(pack):
            build(p, program, "headrace", streaming, prefix=_prefix(n))
        p.run()
    return _packed(pack, SEEN)


def _prefix(n: int) -> str:
    return f"program {n} "


def _packed(pack: Sequence[Program], seen: Sequence[tuple[str, Seen]]) -> list[Outputs]:
    return [_outputs(program, seen, _prefix(n)) for n, program in enumerate(pack)]


def _outputs(program: Program, seen: Sequence[tuple[str, Seen]], prefix: str = "") -> Outputs:
    found = defaultdict(list)
    for name, row in seen:
        found[name].append(row)
    last = program.outputs[-1].stop if program.nodes else 1
    return [sorted(found[f"{prefix}{n}"]) for n in range(last)]
