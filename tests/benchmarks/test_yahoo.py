"""The Yahoo streaming benchmark with 10,000 events through real Kafka and Redis; counts of plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.yahoo import report
from benchmarks.yahoo.events import (
    DISORDER,
    WINDOW,
    Load,
    campaigns,
    counts,
    window_of,
    windows_with_late_views,
)
from benchmarks.yahoo.in_headrace import running
from benchmarks.yahoo.measuring import (
    WARM_UP,
    Measured,
    MismatchError,
    latencies_of,
    new_topic,
    wait_for,
)
from benchmarks.yahoo.sender import send_all
from benchmarks.yahoo.stored_counts import CountStore, Stored
from tests.benchmarks.conftest import MODES
from tests.support.services import kafka, redis

pytestmark = pytest.mark.slow

LOAD = Load(rate=100, seconds=100, start=1_700_000_000, late=0.02)


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    """A database of Redis."""
    if not redis.is_installed():
        pytest.skip(redis.NOT_INSTALLED)
    with redis.server() as started:
        yield started.url


@pytest.mark.parametrize("flags", [MODES[1], MODES[3]], indirect=True)
def test_counts_are_those_of_plain_python(
    flags: list[str], kafka_broker: kafka.Broker, redis_url: str
) -> None:
    address = kafka_broker.address
    store, topic = CountStore(redis_url), new_topic(address)
    store.clear()
    store.put_campaigns(campaigns())
    send_all(address, topic, LOAD.messages())
    expected = counts(LOAD.messages())
    with running(address, redis_url, flags, topic):
        found = wait_for(store, expected)
    assert sum(stored.count for stored in found.values()) == sum(expected.values())
    store.write([("campaign-000", LOAD.start, 1_000_000)])
    with pytest.raises(MismatchError, match="instead of"):
        wait_for(store, expected, timeout=0)
    store.close()


def test_events_are_out_of_order_and_some_are_late() -> None:
    messages = list(LOAD.messages())
    assert len(messages) == LOAD.events == 10_000
    times = [message.at for message in messages]
    assert times != sorted(times)
    late = [m for m in messages if m.at / 1000 < LOAD.start + m.due - DISORDER - 0.001]
    assert 100 < len(late) < 300
    assert windows_with_late_views(LOAD) <= counts(messages).keys()
    assert windows_with_late_views(LOAD)


def test_the_latency_is_the_last_update_after_the_end_of_a_window_without_late_views() -> None:
    late = windows_with_late_views(LOAD)
    first = window_of(LOAD.start * 1000)
    starts = range(first, LOAD.start + LOAD.seconds + WINDOW, WINDOW)
    windows = [(campaign, start) for campaign in set(campaigns().values()) for start in starts]
    found = {window: Stored(1, window[1] + WINDOW + 1.5) for window in windows}
    latencies = latencies_of(found, LOAD)
    timed = {start for _, start in latencies}
    assert set(latencies.values()) == {1.5}
    assert not latencies.keys() & late
    assert min(timed) >= LOAD.start + WARM_UP
    assert max(timed) + WINDOW <= LOAD.start + LOAD.seconds


def test_a_rate_is_sustained_if_the_last_windows_are_complete_in_time(tmp_path: Path) -> None:
    fast, slow = Measured(100, 9, 0.5, 0.9, 0.6, 0.0), Measured(200, 9, 8.0, 22.0, 21.0, 0.1)
    assert fast.is_bounded
    assert not slow.is_bounded
    found = {"one": [fast, slow], "other": [fast]}
    assert report.sustained(found).splitlines() == [
        "- one: the latency stays bounded up to 100 events a second; it grows at 200.",
        "- other: the latency stays bounded up to 100 events a second; the highest rate that was tried.",
    ]
    report.draw(found, tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")
