"""The results of the Nexmark queries are those of plain Python, in batch and streaming mode."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import attrs
import pytest
from nexmark.events import Auction, Bid, Person
from nexmark.generator import Config, Events, arrivals, event, events
from nexmark.job import LOGS, NUMBERS, QUERIES, changes, current, run
from nexmark.winners import AverageOfLast, Sale, Winner

import headrace as hr
from headrace.testing import TestStream, capture
from headrace.testing.laws import check_combine_fn
from tests.docs.examples import nexmark_oracle
from tests.docs.examples.conftest import EXAMPLES
from tests.docs.examples.nexmark_oracle import ANSWERS, House

CONFIG = Config(events=2_000, rate=50)


@pytest.fixture(scope="module", params=["batch", "streaming"])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the results of all queries, from one run."""
    directory = tmp_path_factory.mktemp(request.param)
    run(CONFIG, NUMBERS, directory, ["--streaming"] if request.param == "streaming" else [])
    return directory


@pytest.fixture(scope="module")
def house() -> House:
    return House(events(CONFIG))


@pytest.mark.parametrize("number", ANSWERS)
def test_results_are_those_of_plain_python(number: int, results: Path, house: House) -> None:
    assert current(results, number) == ANSWERS[number](house)


def test_counts_by_the_clock_contain_each_bid_once(results: Path, house: House) -> None:
    check_counts_by_the_clock(results, house)


def check_counts_by_the_clock(directory: Path, house: House) -> None:
    counts: Counter[int] = Counter()
    for (bidder, bids), diff in changes(directory, 12):
        counts[bidder] += bids * diff
    assert counts == nexmark_oracle.q12(house)


def test_log_files_hold_each_event_once_in_the_files_of_its_window(
    results: Path, house: House
) -> None:
    check_logs(results, house)


def check_logs(directory: Path, house: House) -> None:
    found: dict[int, list[str]] = {}
    for path in (directory / "q10").glob("log-*"):
        start = datetime.strptime(path.name.split("-")[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        lines = found.setdefault(int(start.timestamp()) * 1000, [])
        lines += path.read_text().splitlines()
    assert {start: sorted(lines) for start, lines in found.items()} == nexmark_oracle.logs(house)


def test_every_query_has_an_answer() -> None:
    assert sorted([*ANSWERS, 12]) == sorted(QUERIES)
    assert sorted([*QUERIES, LOGS]) == NUMBERS


def check_all(directory: Path, *flags: str) -> None:
    run(CONFIG, NUMBERS, directory, flags)
    house = House(events(CONFIG))
    for number, answer in ANSWERS.items():
        assert current(directory, number) == answer(house), number
    check_counts_by_the_clock(directory, house)
    check_logs(directory, house)


def test_late_events_correct_results_in_streaming_mode(tmp_path: Path) -> None:
    check_corrections(tmp_path, [4, 5, 6, 7, 8, 9, 11])


def check_corrections(directory: Path, numbers: list[int], *flags: str) -> None:
    """Late bids change winners; averages, joins, sessions and rankings follow; nothing is dropped."""
    result = run(CONFIG, numbers, directory, ["--streaming", *flags])
    house = House(events(CONFIG))
    for number in numbers:
        assert current(directory, number) == ANSWERS[number](house), number
        assert any(diff < 0 for _, diff in changes(directory, number)), number
    assert sum(step.late_dropped for step in result.metrics().steps.values()) == 0


class TestQuery6:
    def auction(self, number: int, expires: int) -> hr.TimestampedValue:
        opens = expires - 5
        item = Auction(number, "lamp", 10, opens * 1000, expires * 1000, seller=7, category=10)
        return hr.TimestampedValue(item, opens)

    def bid(self, number: int, price: int, time: float) -> hr.TimestampedValue:
        return hr.TimestampedValue(Bid(number, 1, price, int(time * 1000)), time)

    def log(self, stream: TestStream) -> list[tuple[float, int]]:
        with hr.Pipeline() as p:
            found = capture(QUERIES[6](p | stream))
        return [(pane.value.price, pane.diff) for pane in found.elements]

    def test_a_late_bid_that_wins_corrects_the_average(self) -> None:
        stream = (
            TestStream()
            .add_elements([self.auction(1, 10), self.bid(1, 100, 6)])
            .add_elements([self.auction(2, 20), self.bid(2, 300, 16)])
            .advance_watermark_to(11)
            .advance_watermark_to(21)
            .add_elements([self.bid(1, 150, 7)])
            .add_elements([self.bid(2, 400, 20)])  # the auction is closed by then
            .advance_watermark_to_infinity()
        )
        assert self.log(stream) == [(100, 1), (100, -1), (200, 1), (200, -1), (225, 1)]

    @pytest.mark.parametrize(
        ("late", "expected"),
        [
            (3, [(12, -1), (112, 1)]),  # the tenth sale from the end
            (2, [(12, -1), (12, 1)]),  # the eleventh
            (
                13,
                [(12, -1), (112, 1)],
            ),  # not sold before; the third sale takes the place of the tenth
        ],
    )
    def test_the_average_is_of_the_last_ten_that_are_sold(
        self, late: int, expected: list[tuple[float, int]]
    ) -> None:
        stream = TestStream()
        for number in range(1, 13):
            stream.add_elements(
                [self.auction(number, 9 + number), self.bid(number, 12, 5 + number)]
            )
        stream.add_elements([self.auction(13, 22), self.bid(13, 9, 20)])  # below the reserve
        stream.advance_watermark_to(30)
        stream.add_elements([self.bid(late, 1012, 6 + late)])
        log = self.log(stream.advance_watermark_to_infinity())
        assert log[-2:] == expected


class TestCombiners:
    def test_the_average_does_not_depend_on_the_order(self) -> None:
        sales = [Sale(closed, number, 100) for number, closed in enumerate([1, 2, 2, 3] * 4)]
        check_combine_fn(AverageOfLast(), [sale._replace(price=sale.auction) for sale in sales])

    def test_the_winner_does_not_depend_on_the_order(self) -> None:
        auction = Auction(1, "lamp", 10, 0, 100, seller=7, category=10)
        bids = [Bid(1, bidder, 50, time) for bidder in (3, 2) for time in (2, 1)]
        check_combine_fn(Winner(), [auction, *bids])
        assert Winner().apply([auction, *bids]) == (auction, Bid(1, 2, 50, 1))
        assert Winner().apply([auction, Bid(1, 2, 9, 1)]) is None
        assert Winner().apply(bids) is None


class TestGenerator:
    def test_the_events_depend_on_the_seed_only(self) -> None:
        assert (
            events(CONFIG) == events(attrs.evolve(CONFIG)) != events(attrs.evolve(CONFIG, seed=2))
        )
        assert [event(CONFIG, n) for n in (1999, 0)] == [events(CONFIG)[-1], events(CONFIG)[0]]

    def test_partitions_have_all_events_whatever_their_number(self) -> None:
        for partitions in (1, 3):
            config = attrs.evolve(CONFIG, partitions=partitions)
            found = [e for n in Events(config).partitions() for e in arrivals(config, n)]
            assert sorted(found, key=repr) == sorted(events(CONFIG), key=repr)

    def test_of_fifty_events_one_is_a_person_and_three_are_auctions(self) -> None:
        kinds = Counter(type(e) for e in events(CONFIG))
        assert kinds == {Person: 40, Auction: 120, Bid: 1840}

    def test_events_refer_to_earlier_ones_and_arrive_out_of_order(self) -> None:
        house = House(events(CONFIG))
        assert all(house.persons[a.seller].time < a.time for a in house.auctions.values())
        assert all(house.auctions[b.auction].time < b.time for b in house.bids)
        assert any(house.auctions[b.auction].expires <= b.time for b in house.bids)
        times = [e.time for e in arrivals(CONFIG, 0)]
        assert times != sorted(times)
        slowest = max(max(times[:n]) - times[n] for n in range(1, len(times)))
        assert 10_000 < slowest <= CONFIG.longest_delay

    def test_the_rate_is_that_of_event_time(self) -> None:
        first, *_, last = events(CONFIG)
        assert last.time - first.time == 1999 * 1000 // 50


def test_the_command_prints_the_results(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "examples.nexmark", f"--directory={tmp_path}", "--streaming"]
    numbers = ["--query=6", "--query=10", "--events=1000", "--rate=25"]
    done = subprocess.run(
        [*command, *numbers],
        cwd=EXAMPLES.parent,
        env=dict(os.environ),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    expected = nexmark_oracle.q6(House(events(Config(events=1000, rate=25))))
    assert f"query 6: {expected.total()} results, after " in done.stdout
    assert "query 10: " in done.stdout
