"""The bank on 10,000 transfers: no total is ever wrong, on both runners; the check finds wrong sinks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from benchmarks.bank import report
from benchmarks.bank.in_headrace import run
from benchmarks.bank.outcome import Outcome
from benchmarks.bank.programs import PROGRAMS
from benchmarks.bank.reader import Seen
from benchmarks.bank.transfers import BLOCK, DAY, PARTITIONS, Bank, Transfers, balances
from headrace.sdk.io.table.database import Database
from headrace.testing.laws import check_source
from tests.benchmarks.conftest import MODES
from tests.conftest import ON_SPARK

pytestmark = pytest.mark.slow

BANK = Bank(10_000, accounts=50)

_, LOCAL, _, SPARK = MODES


def test_the_source_obeys_the_laws_of_sources_and_its_transfers_are_out_of_order() -> None:
    check_source(Transfers(Bank(40, accounts=5)))
    times = [each.at for each in BANK.read(0, 0, BANK.per_partition)]
    assert times != sorted(times)
    assert all(each.payer != each.payee for each in BANK.all())


def test_parts_of_a_partition_are_those_of_the_whole() -> None:
    whole = BANK.read(1, 0, BANK.per_partition)
    assert len(whole) == BANK.per_partition == BANK.transfers // PARTITIONS
    assert whole[BLOCK - 3 : BLOCK + 5] == BANK.read(1, BLOCK - 3, BLOCK + 5)
    assert BANK.read(1, BANK.per_partition - 2, BANK.per_partition + 9) == whole[-2:]


def test_plain_python_finds_a_total_of_0_for_each_day() -> None:
    found = balances(BANK, by_day=True)
    days = {day for day, _ in found}
    assert len(days) > 5
    assert all(day % DAY == 0 for day in days)
    assert all(sum(n for (day, _), n in found.items() if day == each) == 0 for each in days)


CASES = [
    *(pytest.param(LOCAL.values[0], name, id=f"local-{name}") for name in PROGRAMS),
    pytest.param(SPARK.values[0], "by-day", marks=ON_SPARK, id="spark-by-day"),
]


@pytest.mark.parametrize(("flags", "name"), CASES, indirect=["flags"])
def test_no_reader_sees_a_wrong_total(flags: list[str], name: str, tmp_path: Path) -> None:
    outcome = run(name, BANK, _database(tmp_path), flags, per_batch=2_500)
    assert outcome.is_consistent, outcome
    assert outcome.after_batches.moments >= 4
    assert (outcome.corrections > 0) == PROGRAMS[name].retracts


def test_a_sink_that_shows_half_of_a_batch_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: dict[str, list[Any]] = {}

    def half(apply: Apply, database: Database, changes: Any, batch: Any) -> None:
        writes = held.pop(database.name, []) + changes.writes
        held[database.name] = writes[len(writes) // 2 :]
        apply(database, attrs.evolve(changes, writes=writes[: len(writes) // 2]), batch)

    _seed(monkeypatch, half)
    outcome = run("at-present", BANK, _database(tmp_path), [], per_batch=2_500)
    assert not outcome.is_consistent
    assert outcome.after_batches.wrong > 0


def test_a_sink_that_loses_a_batch_is_found_by_the_last_balances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lossy(apply: Apply, database: Database, changes: Any, batch: Any) -> None:
        if batch.id != 3:
            apply(database, changes, batch)

    _seed(monkeypatch, lossy)
    outcome = run("discarding", BANK, _database(tmp_path), [], per_batch=2_500)
    assert outcome.after_batches.wrong == 0
    assert outcome.differing > 0
    assert not outcome.is_consistent


def test_beam_ends_with_the_balances_of_plain_python(tmp_path: Path) -> None:
    pytest.importorskip("apache_beam")
    from benchmarks.bank import in_beam

    outcome = in_beam.run(Bank(80, accounts=5), _database(tmp_path), per_batch=40)
    assert outcome.differing == 0
    assert outcome.after_batches.moments > 0


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_spark_refuses_a_join_of_two_aggregations(spark: Any, tmp_path: Path) -> None:
    from benchmarks.bank.in_structured_streaming import refusal, write_files

    write_files(Bank(40, accounts=5), tmp_path, per_batch=40)
    assert "not supported in Update output mode" in refusal(spark, tmp_path)


def test_outcomes_of_several_commands_make_one_table(tmp_path: Path) -> None:
    page, kept = tmp_path / "page.md", tmp_path / "kept.json"
    page.write_text("<!-- bank -->\n<!-- end of bank -->\n")
    first = Outcome(2_000, 4.0, Seen(3), Seen(5, wrong=2, furthest=-1_234), 7, 0)
    report.write({"first": first}, "REFUSED", page, kept)
    report.write({"second": attrs.evolve(first, seconds=1.0)}, "", page, kept)
    text = page.read_text()
    assert "| first | 2,000 | 3 | 0 | 5 | 2 | -1,234 | 7 | 0 | 500 |" in text
    assert "| second | 2,000 | 3 | 0 | 5 | 2 | -1,234 | 7 | 0 | 2,000 |" in text
    assert "REFUSED" in text


Apply = Callable[[Database, Any, Any], None]


def _seed(
    monkeypatch: pytest.MonkeyPatch, wrong: Callable[[Apply, Database, Any, Any], None]
) -> None:
    """Let a wrong function apply the changes of a batch."""
    apply = Database.apply
    monkeypatch.setattr(Database, "apply", lambda *given: wrong(apply, *given))


def _database(folder: Path) -> str:
    return f"sqlite:///{folder}/bank.db"
