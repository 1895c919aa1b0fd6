"""The results of the Nexmark queries are those of plain Python, in batch and streaming mode."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import attrs
import pytest
from nexmark.events import Auction, Bid, Person
from nexmark.generator import HOT, START, Config, Events, arrivals, event, events
from nexmark.job import LOGS, NUMBERS, QUERIES, changes, current, logged, run
from nexmark.reports import CountDistinct, Prices
from nexmark.winners import AverageOfLast, Sale, Winner

import headrace as hr
from headrace.testing import TestStream, capture
from headrace.testing.laws import check_combine_fn
from tests.docs.examples import nexmark_oracle
from tests.docs.examples.conftest import EXAMPLES
from tests.docs.examples.nexmark_oracle import ANSWERS, House

pytestmark = pytest.mark.slow

MIDNIGHT = START + 24 * 3600 * 1000
CONFIG = Config(events=10_000, rate=100, start=MIDNIGHT - 50_000)
"""The events of 100 seconds around midnight."""


@attrs.frozen
class Ran:
    """A run of all queries: where its results are, and how many late events it dropped."""

    streaming: bool
    directory: Path
    late_dropped: int


@pytest.fixture(scope="module", params=["batch", "streaming"])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    directory = tmp_path_factory.mktemp(request.param)
    return run_all(directory, request.param == "streaming", "--max-records-per-batch=500")


def run_all(directory: Path, streaming: bool, *flags: str) -> Ran:
    """Run all queries in one pipeline."""
    result = run(CONFIG, NUMBERS, directory, ["--streaming", *flags] if streaming else flags)
    steps = result.metrics().steps.values()
    return Ran(streaming, directory, sum(step.late_dropped for step in steps))


@pytest.fixture(scope="module")
def house() -> House:
    return House(events(CONFIG))


@pytest.mark.parametrize("number", ANSWERS)
def test_results_are_those_of_plain_python(number: int, ran: Ran, house: House) -> None:
    assert current(ran.directory, number) == ANSWERS[number](house)


def test_counts_by_the_clock_contain_each_bid_once(ran: Ran, house: House) -> None:
    check_counts_by_the_clock(ran.directory, house)


def check_counts_by_the_clock(directory: Path, house: House) -> None:
    counts: Counter[int] = Counter()
    for (bidder, bids), diff in changes(directory, 12):
        counts[bidder] += bids * diff
    assert counts == nexmark_oracle.q12(house)


def test_log_files_hold_each_event_once_in_the_files_of_its_window(ran: Ran, house: House) -> None:
    check_logs(ran.directory, house)


def check_logs(directory: Path, house: House) -> None:
    assert logged(directory) == nexmark_oracle.logs(house)


def test_every_query_has_an_answer() -> None:
    assert sorted([*ANSWERS, 12]) == sorted(QUERIES)
    assert sorted([*QUERIES, LOGS]) == NUMBERS


def test_late_events_correct_results_in_streaming_mode_and_none_is_dropped(ran: Ran) -> None:
    check_corrections(ran, CORRECTED)


CORRECTED = [4, 5, 6, 7, 9, 11, 15, 16, 17, 18, 19]
"""Late bids change winners; averages, sessions, rankings and reports follow."""


def check_corrections(ran: Ran, numbers: Iterable[int]) -> None:
    for number in numbers:
        retracted = any(diff < 0 for _, diff in changes(ran.directory, number))
        assert retracted == ran.streaming, number
    assert ran.late_dropped == 0


def check_all(directory: Path, streaming: bool, corrected: Iterable[int], *flags: str) -> None:
    ran = run_all(directory, streaming, *flags)
    house = House(events(CONFIG))
    for number, answer in ANSWERS.items():
        assert current(directory, number) == answer(house), number
    check_counts_by_the_clock(directory, house)
    check_logs(directory, house)
    check_corrections(ran, corrected)


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

    def test_the_reports_do_not_depend_on_the_order(self) -> None:
        bids = [event(CONFIG, n) for n in range(10, 40)]
        check_combine_fn(CountDistinct(), bids)
        check_combine_fn(Prices(), [bid.price for bid in bids if isinstance(bid, Bid)])


class TestGenerator:
    def test_the_events_depend_on_the_seed_only(self) -> None:
        assert (
            events(CONFIG) == events(attrs.evolve(CONFIG)) != events(attrs.evolve(CONFIG, seed=2))
        )
        assert [event(CONFIG, n) for n in (9_999, 0)] == [events(CONFIG)[-1], events(CONFIG)[0]]

    def test_partitions_have_all_events_whatever_their_number(self) -> None:
        for partitions in (1, 3):
            config = attrs.evolve(CONFIG, partitions=partitions)
            found = [e for n in Events(config).partitions() for e in arrivals(config, n)]
            assert sorted(found, key=repr) == sorted(events(CONFIG), key=repr)

    def test_of_fifty_events_one_is_a_person_and_three_are_auctions(self) -> None:
        kinds = Counter(type(e) for e in events(CONFIG))
        assert kinds == {Person: 200, Auction: 600, Bid: 9200}

    def test_events_refer_to_earlier_ones_and_arrive_out_of_order(self) -> None:
        house = House(events(CONFIG))
        assert all(house.persons[a.seller].time < a.time for a in house.auctions.values())
        assert all(house.auctions[b.auction].time < b.time for b in house.bids)
        assert any(house.auctions[b.auction].expires <= b.time for b in house.bids)
        times = [e.time for e in arrivals(CONFIG, 0)]
        assert times != sorted(times)
        slowest = max(max(times[:n]) - times[n] for n in range(1, len(times)))
        assert 10_000 < slowest <= CONFIG.longest_delay

    @pytest.mark.parametrize("ratio", [2, 4])
    def test_a_part_of_the_bids_is_in_hot_auctions_and_of_hot_bidders(self, ratio: int) -> None:
        config = attrs.evolve(CONFIG, hot_auction_ratio=ratio, hot_bidder_ratio=ratio)
        bids = House(events(config)).bids[len(events(config)) // 4 :]
        for keys in ((bid.auction for bid in bids), (bid.bidder - 1 for bid in bids)):
            hot = sum(key % HOT == 0 for key in keys) / len(bids)
            assert hot == pytest.approx(1 - 1 / ratio, abs=0.05)

    def test_an_auction_is_open_until_so_many_others_have_opened(self) -> None:
        for flying in (5, 20):
            config = attrs.evolve(CONFIG, in_flight_auctions=flying)
            open_for = [a.expires - a.time for a in House(events(config)).auctions.values()]
            average = flying / 3 * 50 * 1000 / config.rate
            assert sum(open_for) / len(open_for) == pytest.approx(average, rel=0.1)

    def test_the_rate_is_that_of_event_time(self) -> None:
        first, *_, last = events(CONFIG)
        assert last.time - first.time == 9_999 * 1000 // 100


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
