"""The alerts of the fraud job are those of plain Python, which sorts payments and splits them at gaps."""

from collections import defaultdict
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import fraud_sessions
import pytest
from fraud_sessions import GAP, LARGE_SUM, MANY, current_alerts


def expected_alerts():
    by_card = defaultdict(list)
    for payment in fraud_sessions.payments():
        by_card[payment["card"]].append((payment["time"], payment["amount"]))
    alerts = []
    for card, paid in by_card.items():
        paid.sort()
        begins = [i for i, (one, two) in enumerate(pairwise(paid), 1) if two[0] - one[0] >= GAP]
        for begin, end in pairwise([0, *begins, len(paid)]):
            session = paid[begin:end]
            total = sum(amount for _, amount in session)
            if len(session) >= MANY or total > LARGE_SUM:
                alerts.append(
                    (text(session[0][0]), text(session[-1][0]), card, len(session), total)
                )
    fields = ("first", "last", "card", "payments", "total")
    return [dict(zip(fields, alert, strict=True)) for alert in sorted(alerts)]


def text(second):
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    "mode", [[], ["--streaming"], ["--streaming", "--max-records-per-batch=30"]]
)
def test_files_that_exist(mode: list[str], tmp_path: Path) -> None:
    fraud_sessions.main([f"--directory={tmp_path}", *mode])
    assert current_alerts(tmp_path) == expected_alerts()


def test_files_that_are_written_while_the_job_runs(tmp_path: Path) -> None:
    check_live(tmp_path)


def check_live(directory: Path, *flags: str) -> None:
    result = fraud_sessions.main([f"--directory={directory}", "--live", *flags])
    assert current_alerts(directory) == expected_alerts()
    sessions = result.metrics().steps["Sessions"]
    assert sessions.panes["LATE"] > 0
    assert sessions.late_dropped == 0
    written = "".join(path.read_text() for path in (directory / "alerts").glob("alerts-*"))
    assert '"diff": -1' in written, "a late payment has changed a session with an alert"
