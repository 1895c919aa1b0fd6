"""The daily books are those of plain Python, with every line once."""

from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import orders_join
import pytest
from orders_join import orders_and_payments, read_books


def expected_books():
    amounts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for side, records in enumerate(orders_and_payments()):
        for record in records:
            day = datetime.fromtimestamp(record["time"], UTC).date().isoformat()
            amounts[day, record["order"]][side] += record["amount"]
    return [
        {
            "day": day,
            "order": order,
            "ordered": ordered,
            "paid": paid,
            "status": status(ordered, paid),
        }
        for (day, order), (ordered, paid) in sorted(amounts.items())
    ]


def status(ordered: int, paid: int) -> str:
    if ordered > paid:
        return "open"
    return "paid" if ordered == paid else "overpaid"


@pytest.mark.parametrize("mode", [[], ["--streaming"]])
def test_the_books_are_those_of_plain_python(mode: list[str], tmp_path: Path) -> None:
    orders_join.main([f"--directory={tmp_path}", *mode])
    assert read_books(tmp_path) == expected_books()


def test_all_kinds_of_lines_occur() -> None:
    assert {line["status"] for line in expected_books()} == {"open", "paid", "overpaid"}
    assert any(line["ordered"] == 0 for line in expected_books()), "paid after midnight"
