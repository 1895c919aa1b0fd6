"""Drawn programs give the same by our translation as natively, and on Beam's runners where these are right.

`python -m tests.beam.judge.twin` runs many; this is a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

from apache_beam.transforms.userstate import BagStateSpec
from hypothesis import HealthCheck, Phase, example, given, seed, settings, strategies as st

from headrace.beam import HeadraceRunner
from headrace.sdk.beam.programs import nodes, states, step
from headrace.sdk.pardo.state.specs import SetStateSpec
from headrace.triggers import WindowingStrategy
from headrace.windowing import FixedWindows
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND
from tests.beam.judge.twin.comparing import assert_same, check
from tests.beam.judge.twin.drawing import drawn_programs, programs
from tests.beam.judge.twin.language import Machine, Node, Program
from tests.beam.judge.twin.quicker import quick_construction
from tests.beam.judge.twin.running import (
    OURS,
    by_beam,
    natively,
    packed_by_beam,
    packed_natively,
)
from tests.faults.days import in_turns

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]

ALL_WAYS = max(15, settings().max_examples // 5)


@pytest.fixture(autouse=True)
def _quick() -> Iterator[None]:
    with quick_construction():
        yield


def alarm_at_the_end() -> Program:
    """A timer is due when its window ends: our translation once stamped its outputs with that time."""
    script = (("elements", (("a", 1, 17 * SECOND, 1),)), ("watermark", MAX_MICROS))
    alarm = Machine(((("set", "", 3),),), (("emit", "t"),), ())
    return Program(script, "str", WindowingStrategy(FixedWindows(5)), (Node("state", (0,), alarm),))


@settings(max_examples=ALL_WAYS, suppress_health_check=SLOW)
@given(programs(), st.booleans())
def test_a_program_in_three_ways(program: Program, streaming: bool) -> None:
    check(program, streaming, Counter())


def check_translation(program: Program, streaming: bool) -> None:
    native = natively(program, streaming)
    assert_same("HeadraceRunner", program, by_beam(program, OURS, streaming), native)


@settings(max_examples=3 * ALL_WAYS, suppress_health_check=SLOW)
@given(programs(), st.booleans())
@example(alarm_at_the_end(), True)
@example(alarm_at_the_end(), False)
def test_the_translation_of_a_program(program: Program, streaming: bool) -> None:
    check_translation(program, streaming)


@pytest.mark.spark
@pytest.mark.usefixtures("small_spark")
def test_a_pack_of_programs_on_spark(tmp_path: Path) -> None:
    pack = drawn_programs(12, random_seed=0)
    native = packed_natively(pack, streaming=False)
    theirs = packed_by_beam(pack, HeadraceRunner("spark"), False, str(tmp_path / "seen"))
    for program, one, other in zip(pack, theirs, native, strict=True):
        assert_same("Spark", program, one, other)


# Bugs that are seeded in the translation


def a_set_keeps_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(states.BeamSetState, "add", lambda self, value: None)


def a_bag_forgets_duplicates(patch: pytest.MonkeyPatch) -> None:
    bag = BagStateSpec
    patch.setitem(states._SPECS, bag, lambda spec: SetStateSpec(spec.name))


def the_tag_of_a_timer_is_lost(patch: pytest.MonkeyPatch) -> None:
    own = states.BeamTimer.set
    patch.setattr(states.BeamTimer, "set", lambda self, at, dynamic_timer_tag="": own(self, at))


def a_timer_cannot_be_cleared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(states.BeamTimer, "clear", lambda self, dynamic_timer_tag="": None)


def a_side_input_is_shortened(patch: pytest.MonkeyPatch) -> None:
    own = step.BeamView.__call__
    patch.setattr(step.BeamView, "__call__", lambda self, values, name: own(self, values[1:], name))


def the_last_input_of_a_flatten_is_lost(patch: pytest.MonkeyPatch) -> None:
    own = nodes.Graphs.flatten
    patch.setattr(nodes.Graphs, "flatten", lambda self, pcolls: own(self, pcolls[:1]))


BUGS = [
    (a_set_keeps_nothing, "note"),
    (a_bag_forgets_duplicates, "add"),
    (the_tag_of_a_timer_is_lost, "set"),
    (a_timer_cannot_be_cleared, "unset"),
    (a_side_input_is_shortened, ""),
    (the_last_input_of_a_flatten_is_lost, ""),
]
"""Each bug with what a stateful DoFn must do to show it."""


def programs_that(verb: str) -> st.SearchStrategy[Program]:
    """Programs with a stateful DoFn that does something; all programs if the verb is empty."""

    def does(program: Program) -> bool:
        machines = [node.how for node in program.nodes if isinstance(node.how, Machine)]
        return any(machine.does(verb) for machine in machines)

    return programs().filter(does) if verb else programs()


@pytest.mark.parametrize(
    ("bug", "verb"),
    [pytest.param(*b, id=b[0].__name__, marks=in_turns(n)) for n, b in enumerate(BUGS)],
)
def test_a_bug_seeded_in_the_translation_is_found(
    bug: Callable[[pytest.MonkeyPatch], None], verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    cases = settings(
        max_examples=3 * ALL_WAYS,
        database=None,
        phases=(Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=[*SLOW, HealthCheck.filter_too_much],
    )
    with pytest.raises(AssertionError):
        seed(0)(cases(given(programs_that(verb), st.booleans())(check_translation)))()
