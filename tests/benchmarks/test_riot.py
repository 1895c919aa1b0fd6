"""RIoTBench's applications on 10,000 readings publish what plain Python computes."""

from pathlib import Path

import pytest

import headrace as hr
from benchmarks.in_time_order import InTimeOrder
from benchmarks.riot.etl import Registered
from benchmarks.riot.job import check, run
from benchmarks.riot.messages import RANGES, Config, Reading, message, registered, write_messages
from benchmarks.riot.plain import Answers, answers
from benchmarks.riot.senml import SenML, readings_of
from headrace.testing import TestStream, capture

pytestmark = pytest.mark.slow

CONFIG = Config(messages=2_000)


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("messages")
    write_messages(CONFIG, directory)
    return directory


@pytest.fixture(scope="module")
def expected() -> Answers:
    return answers(CONFIG)


def test_published_data_is_that_of_plain_python(
    flags: list[str], messages: Path, expected: Answers, tmp_path: Path
) -> None:
    result = run(CONFIG, messages, tmp_path, ["--max-records-per-batch=500", *flags])
    check(tmp_path, expected)
    assert sum(step.late_dropped for step in result.metrics().steps.values()) == 0


def test_the_input_is_out_of_order_with_missing_and_wrong_values_and_unknown_sensors(
    messages: Path,
) -> None:
    assert CONFIG.readings == 10_000
    lines = (messages / "messages-0.txt").read_text().splitlines()
    parsed = [SenML().decode(line.encode()) for line in lines]
    times = [each["bt"] for each in parsed]
    assert times != sorted(times)
    found = [reading for each in parsed for reading in readings_of(each)]
    values = [(reading.field, reading.value) for reading in found]
    assert any(value is None for _, value in values)
    assert any(value is not None and value > RANGES[field][1] for field, value in values)
    assert {reading.sensor for reading in found} > set(registered(CONFIG))


def test_the_bloom_filter_keeps_all_that_it_knows_and_nearly_nothing_else() -> None:
    names = [f"sensor-{n}" for n in range(1_000)]
    known = Registered(names)
    known.setup()
    reading = Reading(1, "", "dust", 0, 3.5)
    kept = [n for n in range(100_000) if [*known.process(reading._replace(sensor=f"sensor-{n}"))]]
    assert kept[:1_000] == list(range(1_000))
    assert len(kept) < 1_005


def test_a_step_sees_values_in_event_time_order() -> None:
    stream = (
        TestStream()
        .add_elements([hr.TimestampedValue(("a", n), n) for n in (3, 1)])
        .advance_watermark_to(2)
        .add_elements([hr.TimestampedValue(("a", n), n) for n in (4, 2)])
        .advance_watermark_to_infinity()
    )
    with hr.Pipeline() as p:
        found = capture(p | stream | hr.ParDo(InTimeOrder(_all_so_far)))
    assert [pane.value for pane in found.elements] == [
        ("a", [1]),
        ("a", [1, 2]),
        ("a", [1, 2, 3]),
        ("a", [1, 2, 3, 4]),
    ]
    assert [pane.timestamp for pane in found.elements] == [1, 2, 3, 4]


def _all_so_far(before: list[int] | None, value: int) -> tuple[list[int], list[list[int]]]:
    found = [*(before or []), value]
    return found, [found]


def test_a_message_depends_on_the_seed_only() -> None:
    assert message(CONFIG, 7) == message(Config(), 7) != message(Config(seed=2), 7)
