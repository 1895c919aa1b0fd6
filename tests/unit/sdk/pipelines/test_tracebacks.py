"""The traceback of an error shows the call and the user's function, without Headrace's own frames."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace as hr
from headrace.sdk.pipelines.tracebacks import HiddenFrames, hide_frames

HERE = __name__


def broken(x: Any) -> float:
    return 1 / 0


class Broken(hr.DoFn):
    def process(self, x: Any) -> Iterator[float]:
        yield broken(x)


class BrokenSum(hr.CombineFn):
    def create_accumulator(self) -> int:
        return 0

    def add_input(self, accumulator: int, element: Any) -> int:
        return int(broken(element))

    def merge_accumulators(self, accumulators: Any) -> int:
        return sum(accumulators)

    def extract_output(self, accumulator: int) -> int:
        return accumulator


def names(error: BaseException) -> list[str]:
    """The functions in the traceback of an error, and the modules of those that are not of this file."""
    frames = (entry.f_globals["__name__"] for entry, _ in traceback.walk_tb(error.__traceback__))
    functions = (entry.f_code.co_name for entry, _ in traceback.walk_tb(error.__traceback__))
    return [
        function if module == HERE else module
        for module, function in zip(frames, functions, strict=True)
    ]


TRANSFORMS: dict[str, Callable[[], Any]] = {
    "Map": lambda: hr.Map(broken),
    "Filter": lambda: hr.Filter(broken),
    "ParDo": lambda: hr.ParDo(Broken()),
    "CombineFn": lambda: hr.CombineGlobally(BrokenSum()),
    "CombinePerKey": lambda: hr.CombinePerKey(BrokenSum()),
}


def run(kind: str, *flags: str) -> BaseException:
    with pytest.raises(ZeroDivisionError) as found:
        _run(kind, *flags)
    return found.value


def _run(kind: str, *flags: str) -> None:
    with hr.Pipeline(argv=[*flags]) as p:
        _ = p | hr.Create([("a", 1)]) | "Breaks" >> TRANSFORMS[kind]()


@pytest.mark.parametrize("flags", [[], ["--streaming"]], ids=["batch", "streaming"])
@pytest.mark.parametrize("kind", TRANSFORMS)
def test_an_error_shows_only_frames_of_the_user(kind: str, flags: list[str]) -> None:
    found = run(kind, *flags)
    own = {"ParDo": ["process"], "CombineFn": ["add_input"], "CombinePerKey": ["add_input"]}
    assert names(found) == ["run", "_run", *own.get(kind, []), "broken"]
    assert any(note.startswith("in Breaks") for note in found.__notes__)


def test_the_flag_keeps_all_frames() -> None:
    assert any(
        name.startswith("headrace.runners") for name in names(run("Map", "--full-traceback"))
    )


def test_run_and_wait_until_finish_show_the_call() -> None:
    p = hr.Pipeline(argv=[])
    _ = p | hr.Create([1]) | hr.Map(broken)
    with pytest.raises(ZeroDivisionError) as found:
        p.run()
    assert names(found.value) == ["test_run_and_wait_until_finish_show_the_call", "broken"]
    p = hr.Pipeline(argv=[])
    _ = p | hr.PeriodicImpulse(fire_interval=0.1) | hr.Map(broken)
    with pytest.raises(ZeroDivisionError) as found:
        p.run().wait_until_finish()
    assert names(found.value)[1:] == ["broken"]


def test_causes_are_shown_in_the_same_way() -> None:
    def wrapped(x: int) -> float:
        try:
            return broken(x)
        except ZeroDivisionError as error:
            raise ValueError("no number") from error

    with pytest.raises(ValueError, match="no number") as found, hr.Pipeline(argv=[]) as p:
        _ = p | hr.Create([1]) | hr.Map(wrapped)
    assert names(found.value)[1:] == ["wrapped"]
    assert found.value.__cause__ is not None
    assert names(found.value.__cause__) == ["wrapped", "broken"]


def test_a_refused_pipeline_shows_the_line_that_runs_it() -> None:
    p = hr.Pipeline(runner="nowhere", argv=[])
    with pytest.raises(hr.HeadraceError) as found:
        p.run()
    assert names(found.value) == ["test_a_refused_pipeline_shows_the_line_that_runs_it"]


def test_a_bug_in_headrace_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    source = compile("def fails(*_):\n    raise KeyError('bug')", "executor.py", "exec")
    space: dict[str, Any] = {"__name__": "headrace.runners.engine.executor"}
    exec(source, space)  # a function of Headrace
    monkeypatch.setattr("headrace.runners.local.runner.LocalRun._read_all", space["fails"])
    with pytest.raises(KeyError) as found, hr.Pipeline(argv=[]) as p:
        _ = p | hr.Create([1])
    assert any(name.startswith("headrace.runners") for name in names(found.value))


def test_a_context_manager_without_an_error_does_nothing() -> None:
    with HiddenFrames():
        pass
    error = ValueError("never raised")
    hide_frames(error)
    assert error.__traceback__ is None
