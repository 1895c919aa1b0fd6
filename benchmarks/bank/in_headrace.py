"""A run of a program of Headrace, on either runner, with readers beside it."""

from __future__ import annotations

import time
from collections.abc import Sequence

import headrace as hr
from benchmarks.bank.outcome import Outcome
from benchmarks.bank.outside import looking
from benchmarks.bank.programs import PROGRAMS, build
from benchmarks.bank.reader import AfterEachBatch, Reader
from benchmarks.bank.transfers import PARTITIONS, Bank


def run(name: str, bank: Bank, url: str, flags: Sequence[str], per_batch: int) -> Outcome:
    """Run a program in streaming mode.

    Args:
        name: of the program.
        bank: the transfers.
        url: URL of an empty database.
        flags: options of the pipeline, with the runner.
        per_batch: transfers of a batch.
    """
    written = PROGRAMS[name]
    size = [f"--max-records-per-batch={per_batch // PARTITIONS}", "--batch-seconds=0"]
    reader = Reader(url)
    pipeline = hr.Pipeline(argv=["--streaming", *size, *flags], observers=[AfterEachBatch(reader)])
    build(pipeline, written, bank, url)
    with looking(url) as outside:
        started = time.monotonic()
        pipeline.run().wait_until_finish()
        seconds = time.monotonic() - started
    corrections = reader.corrections() if written.retracts else 0
    return Outcome.of(bank, written.windows, seconds, reader, outside, corrections)
