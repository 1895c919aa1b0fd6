"""Linear Road on 10,000 records: tolls, alerts, balances and expenditures are those of plain Python."""

from pathlib import Path

import pytest

from benchmarks.linear_road.accounts import ASK, CHARGE, FORGET, NOTIFY, book
from benchmarks.linear_road.job import check, run
from benchmarks.linear_road.plain import Answers, answers
from benchmarks.linear_road.records import (
    BALANCE,
    EXPENDITURE,
    REPORT,
    Config,
    Line,
    Record,
    records,
    write_records,
)
from benchmarks.linear_road.rules import EXIT_LANE, SEGMENT_FEET, before_accident
from benchmarks.linear_road.segments import BEGAN, CLEARED, ENTERS, STATISTICS, crash, hear
from benchmarks.linear_road.vehicles import CROSSED, ENTERED, LEFT, MOVED, STOPPED, follow

pytestmark = pytest.mark.slow

CONFIG = Config(minutes=32)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("records")
    assert write_records(CONFIG, directory) >= 10_000
    return directory


@pytest.fixture(scope="module")
def expected() -> Answers:
    return answers(CONFIG)


def test_answers_are_those_of_plain_python(
    flags: list[str], written: Path, expected: Answers, tmp_path: Path
) -> None:
    result = run(CONFIG, written, tmp_path, ["--max-records-per-batch=3000", *flags])
    check(tmp_path, expected)
    assert sum(step.late_dropped for step in result.metrics().steps.values()) == 0


def test_there_is_something_to_answer(expected: Answers) -> None:
    assert len({toll for _, toll, _ in expected.tolls.values()}) > 3
    assert sum(accident is not None for *_, accident in expected.tolls.values()) > 100
    assert any(expected.balances.values())
    assert len(expected.expenditures) > 100


def test_records_arrive_out_of_order_and_trips_of_a_vehicle_are_apart(written: Path) -> None:
    lines = (written / "records-0.txt").read_text().splitlines()
    times = [Line().decode(line.encode()).time for line in lines]
    assert times != sorted(times)
    found = records(CONFIG)
    assert {record.kind for record in found} == {REPORT, BALANCE, EXPENDITURE}
    reports = [record for record in found if record.kind == REPORT]
    assert len({(r.vehicle, r.time) for r in reports}) == len(reports)
    assert all(r.segment == r.position // SEGMENT_FEET for r in reports)


def test_what_a_vehicle_tells() -> None:
    at = [(0, 100), (1, 5300)] + [(2, 6000)] * 5 + [(3, 7000), (EXIT_LANE, 11000)]
    seen, told = None, []
    for number, (lane, position) in enumerate(at):
        where = (0, lane, 0, position // SEGMENT_FEET, position)
        seen, new = follow(seen, Record(REPORT, 30 * number, 7, 50, *where))
        told += [(number, *each) for each in new]
    place = (0, 0, 2, 6000)
    assert told == [
        (0, LEFT, (0, 0, 0)),
        (0, ENTERED, (0, 0, 0)),
        (1, CROSSED, (0, 0, 1)),
        (1, ENTERED, (0, 0, 1)),
        (5, STOPPED, place),
        (7, MOVED, place),
        (8, LEFT, (0, 0, 2)),
    ]


def test_two_stopped_vehicles_are_an_accident_until_one_of_them_moves() -> None:
    stopped, found = None, []
    for told in [
        (10, STOPPED, 1),
        (20, STOPPED, 2),
        (30, STOPPED, 3),
        (40, MOVED, 1),
        (50, MOVED, 3),
    ]:
        stopped, new = crash(stopped, told)
        found += new
    assert found == [(BEGAN, 20), (CLEARED, 50)]


def test_an_accident_is_announced_in_five_segments_before_it() -> None:
    assert before_accident((0, 0, 2, 7 * SEGMENT_FEET)) == [(0, 0, n) for n in (7, 6, 5, 4, 3)]
    assert before_accident((0, 1, 2, 17 * SEGMENT_FEET)) == [(0, 1, n) for n in (17, 18, 19)]


def test_a_toll_depends_on_the_minutes_before_and_on_accidents_ahead() -> None:
    place = (0, 0, 2, 6 * SEGMENT_FEET)
    known, found = None, []
    for heard in [
        *[(STATISTICS, 60 * m, (m, 20.0 + m, 5 + m)) for m in range(3)],
        (ENTERS, 185, (7, 4)),
        (BEGAN, 190, place),
        (ENTERS, 200, (8, 4)),
        (STATISTICS, 180, (3, 30.0, 9)),
        (ENTERS, 245, (9, 4)),
        (CLEARED, 250, place),
        (ENTERS, 301, (10, 4)),
        (ENTERS, 361, (11, 4)),
    ]:
        known, notices = hear(known, heard)
        found += [(n["vehicle"], n["speed"], n["toll"], n["accident"]) for n in notices]
    assert found == [
        (7, 21.0, 8, None),
        (8, 21.0, 8, None),  # the accident counts from the next minute
        (9, 23.25, 0, 6),
        (10, 23.25, 0, 6),  # it was there in the minute before
        (11, 73 / 3, 0, None),  # no cars in the minute before
    ]


def test_a_toll_is_charged_when_the_vehicle_goes_on_and_forgotten_when_it_leaves() -> None:
    account, found = None, []
    for told in [(NOTIFY, 8), (ASK, 1), (CHARGE, 0), (ASK, 2), (NOTIFY, 18), (FORGET, 0), (ASK, 3)]:
        account, answers_found = book(account, told)
        found += answers_found
    assert found == [(1, 0), (2, 8), (3, 8)]
