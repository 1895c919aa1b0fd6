"""Log records of a user's functions have the step and the window, where there is one."""

import logging
from collections.abc import Iterator

import pytest

import headrace as hr
from headrace.runners.error_context import label_errors_each
from headrace.testing import TestPipeline, assert_that, equal_to
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import ReadModifyWriteStateSpec, TimerSpec, on_timer
from headrace.transforms.window import FixedWindows, SlidingWindows

LOG = logging.getLogger("mill")


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[list[tuple[str, str, str]]]:
    """(step, window, message) of what is logged; filled when the test asks for it."""
    found: list[tuple[str, str, str]] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            fields = vars(record)
            found.append((fields["step"], fields["window"], record.getMessage()))

    handler = Keep()
    handler.addFilter(hr.StepLogFilter())
    LOG.addHandler(handler)
    yield found
    LOG.removeHandler(handler)


def at_times(*times: int) -> hr.Create:
    return hr.Create([hr.TimestampedValue(time, time) for time in times])


def logged(value: int) -> int:
    LOG.warning("%s", value)
    return value


def test_a_map_logs_step_and_window(lines: list[tuple[str, str, str]]) -> None:
    with TestPipeline() as p:
        windowed = p | at_times(5, 65, 7) | hr.WindowInto(FixedWindows(60))
        _ = windowed | "Grind" >> hr.Map(logged) | "Sift" >> hr.Filter(logged)
    assert lines == [
        ("Grind", "[0.0, 60.0)", "5"),
        ("Grind", "[60.0, 120.0)", "65"),
        ("Grind", "[0.0, 60.0)", "7"),
        ("Sift", "[0.0, 60.0)", "5"),
        ("Sift", "[60.0, 120.0)", "65"),
        ("Sift", "[0.0, 60.0)", "7"),
    ]


def fields(value: int) -> tuple[bool, str]:
    record = logging.makeLogRecord({})
    hr.StepLogFilter().filter(record)
    return vars(record)["step"].endswith("Fields"), vars(record)["window"]


@pytest.mark.mode("any")
def test_the_fields_are_known_where_the_function_runs(runner) -> None:
    with TestPipeline(runner=runner) as p:
        windowed = p | at_times(5, 65) | hr.WindowInto(FixedWindows(60))
        found = windowed | "Fields" >> hr.Map(fields)
        assert_that(found, equal_to([(True, "[0.0, 60.0)"), (True, "[60.0, 120.0)")]))


def test_an_element_in_two_windows(lines: list[tuple[str, str, str]]) -> None:
    def in_one(value: int, window=hr.DoFn.WindowParam) -> None:
        LOG.warning("%s", window)

    with TestPipeline() as p:
        windowed = p | at_times(5) | hr.WindowInto(SlidingWindows(60, 30))
        _ = windowed | "Both" >> hr.Map(logged)
        _ = windowed | "Each" >> hr.Map(in_one)
    both = next(window for step, window, _ in lines if step == "Both")
    assert sorted(both.replace(" [", "|[").split("|")) == ["[-30.0, 30.0)", "[0.0, 60.0)"]
    each = [(window, message) for step, window, message in lines if step == "Each"]
    assert len(each) == 2
    assert all(window == message for window, message in each)


class Grinding(hr.DoFn):
    def setup(self) -> None:
        LOG.warning("setup")

    def start_bundle(self) -> None:
        LOG.warning("start")

    def process(self, element: int) -> Iterator[int]:
        LOG.warning("before %s", element)
        yield element
        LOG.warning("after %s", element)

    def finish_bundle(self) -> None:
        LOG.warning("finish")


def test_the_methods_of_a_dofn(lines: list[tuple[str, str, str]]) -> None:
    with TestPipeline() as p:
        _ = p | at_times(5, 65) | hr.WindowInto(FixedWindows(60)) | hr.ParDo(Grinding())
    assert lines == [
        ("ParDo(Grinding)", "", "setup"),
        ("ParDo(Grinding)", "", "start"),
        ("ParDo(Grinding)", "[0.0, 60.0)", "before 5"),
        ("ParDo(Grinding)", "[0.0, 60.0)", "after 5"),
        ("ParDo(Grinding)", "[60.0, 120.0)", "before 65"),
        ("ParDo(Grinding)", "[60.0, 120.0)", "after 65"),
        ("ParDo(Grinding)", "", "finish"),
    ]


class Stateful(hr.DoFn):
    LAST = ReadModifyWriteStateSpec("last")
    DONE = TimerSpec("done", TimeDomain.WATERMARK)

    def setup(self) -> None:
        LOG.warning("setup")

    def start_bundle(self) -> None:
        LOG.warning("start")

    def finish_bundle(self) -> None:
        LOG.warning("finish")

    def process(
        self,
        element: tuple[str, int],
        last=hr.DoFn.StateParam(LAST),
        done=hr.DoFn.TimerParam(DONE),
    ) -> None:
        done.set(element[1] + 10)
        LOG.warning("element")

    @on_timer(DONE)
    def is_done(self) -> None:
        LOG.warning("timer")


def test_a_stateful_dofn_and_its_timer(lines: list[tuple[str, str, str]]) -> None:
    with TestPipeline() as p:
        windowed = p | at_times(5, 65) | hr.WindowInto(FixedWindows(60))
        _ = windowed | hr.WithKeys("rye") | "Mill" >> hr.ParDo(Stateful())
    found = [(window, message) for _, window, message in lines]
    assert sorted(found[2:-1]) == [
        ("[0.0, 60.0)", "element"),
        ("[0.0, 60.0)", "timer"),
        ("[60.0, 120.0)", "element"),
        ("[60.0, 120.0)", "timer"),
    ]
    assert found[:2] + found[-1:] == [("", "setup"), ("", "start"), ("", "finish")]
    assert {step for step, _, _ in lines} == {"Mill"}


def test_a_combine_function_has_a_step_but_no_window(lines: list[tuple[str, str, str]]) -> None:
    def total(values) -> int:
        LOG.warning("sum")
        return sum(values)

    with TestPipeline() as p:
        _ = p | hr.Create([("rye", 1), ("rye", 2)]) | "Sum" >> hr.CombinePerKey(total)
    assert set(lines) == {("Sum", "", "sum")}


def test_outside_of_a_step_the_fields_are_empty(lines: list[tuple[str, str, str]]) -> None:
    with pytest.raises(ZeroDivisionError), TestPipeline() as p:
        _ = p | hr.Create([0]) | hr.Map(lambda x: 1 / x)
    LOG.warning("later")
    assert lines == [("", "", "later")]


def test_the_code_that_uses_items_is_outside_of_their_step(
    lines: list[tuple[str, str, str]],
) -> None:
    for item in label_errors_each("Read", map(logged, [1, 2])):
        LOG.warning("got %s", item)
    assert lines == [("Read", "", "1"), ("", "", "got 1"), ("Read", "", "2"), ("", "", "got 2")]


def test_fields_that_a_program_sets_itself_are_kept(lines: list[tuple[str, str, str]]) -> None:
    with TestPipeline() as p:
        count = lambda x: LOG.warning("%s", x, extra={"step": f"epoch {x}"})  # noqa: E731
        _ = p | hr.Create([3]) | hr.Map(count)
    assert lines == [("epoch 3", "GlobalWindow", "3")]
