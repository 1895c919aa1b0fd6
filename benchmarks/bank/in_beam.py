"""The program with discarding panes on Beam's local runner: the one of the three that Beam can express."""

from __future__ import annotations

import time
import warnings
from importlib import import_module
from typing import Any

from benchmarks.bank.account_table import AccountTable
from benchmarks.bank.outcome import Outcome
from benchmarks.bank.outside import looking
from benchmarks.bank.programs import by_discarding_panes
from benchmarks.bank.reader import Reader
from benchmarks.bank.transfers import PARTITIONS, Bank

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    beam: Any = import_module("apache_beam")
    test_stream: Any = import_module("apache_beam.testing.test_stream")

_READERS: dict[str, Reader] = {}
"""The reader of each database; a DoFn is pickled, and reaches nothing else of this process."""


class WriteBundles(beam.DoFn):  # type: ignore[misc]  # Beam has no types here
    """Writes the balances of each bundle in one transaction, and looks at the table then."""

    def __init__(self, url: str) -> None:
        self._url = url

    def setup(self) -> None:
        self._table = AccountTable(self._url, "balances", "balance")

    def start_bundle(self) -> None:
        self._balances: dict[int, int] = {}

    def process(self, element: tuple[int, int]) -> None:
        account, balance = element
        self._balances[account] = balance

    def finish_bundle(self) -> None:
        self._table.write(self._balances)
        _READERS[self._url].look()


def run(bank: Bank, url: str, per_batch: int) -> Outcome:
    """Run the program; a test stream brings the transfers in bundles."""
    reader = _READERS[url] = Reader(url)
    with looking(url) as outside:
        started = time.monotonic()
        with beam.Pipeline("BundleBasedDirectRunner", argv=["--streaming"]) as p:
            balances = by_discarding_panes(beam, p | _stream(bank, per_batch))
            _ = balances | "Write" >> beam.ParDo(WriteBundles(url))
        seconds = time.monotonic() - started
    return Outcome.of(bank, False, seconds, reader, outside)


def _stream(bank: Bank, per_batch: int) -> Any:
    stream, size = test_stream.TestStream(), per_batch // PARTITIONS
    for start in range(0, bank.per_partition, size):
        arrived = [
            beam.window.TimestampedValue(tuple(each), each.at)
            for partition in range(PARTITIONS)
            for each in bank.read(partition, start, start + size)
        ]
        stream = stream.add_elements(arrived)
    return stream.advance_watermark_to_infinity()
