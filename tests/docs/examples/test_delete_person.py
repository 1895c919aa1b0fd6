"""After a deletion the results are those of plain Python over the rows that are left, without the person."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import delete_person
import pytest
from delete_person import HOUR, Log, history, mentions, read, run


def stamp(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC).replace(tzinfo=None)


def expected(log: Log) -> dict[str, list[tuple[Any, ...]]]:
    people = {n: row for (table, n), row in log.rows.items() if table == "people"}
    visits = [row for (table, _), row in log.rows.items() if table == "visits"]
    pages = Counter((v["page"], v["at"] // HOUR * HOUR) for v in visits)
    joined = [(v, people[v["person"]]) for v in visits if v["person"] in people]
    cities = Counter((person["city"], v["at"] // HOUR * HOUR) for v, person in joined)
    return {
        "pages": sorted((page, n, start, start + HOUR) for (page, start), n in pages.items()),
        "sessions": sorted(sessions(visits)),
        "visits": sorted((v["id"], person["name"], v["page"]) for v, person in joined),
        "cities": sorted((city, n, start, start + HOUR) for (city, start), n in cities.items()),
    }


def sessions(visits: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    found: dict[int, list[list[Any]]] = {}
    for visit in sorted(visits, key=lambda v: v["at"]):
        own = found.setdefault(visit["person"], [])
        if own and visit["at"] < own[-1][2]:
            own[-1][1] += 1
            own[-1][2] = visit["at"] + HOUR // 2
        else:
            own.append([visit["at"], 1, visit["at"] + HOUR // 2])
    return [(person, n, begin, end) for person, own in found.items() for begin, n, end in own]


def seconds(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows with the bounds of windows in seconds."""
    return sorted(tuple(map(_seconds, row)) for row in rows)


def _seconds(value: Any) -> Any:
    try:
        return int(datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp())
    except (TypeError, ValueError):
        return value


def check(directory: Path, *flags: str) -> None:
    log, asked = history()
    for name, messages in (("before", log.messages[:asked]), ("after", log.messages)):
        assert run(messages, directory / f"{name}.db", list(flags)) == "DONE"
    before, after = (read(directory / f"{name}.db") for name in ("before", "after"))
    assert len(list(mentions(before))) > 40
    assert list(mentions(after)) == []
    assert {table: seconds(rows) for table, rows in after.items()} == expected(log)


@pytest.mark.parametrize("mode", [[], ["--streaming"]])
def test_nothing_of_the_person_is_left(mode: list[str], tmp_path: Path) -> None:
    check(tmp_path, *mode)


def test_the_program_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert delete_person.main([f"--directory={tmp_path}", "--no-progress"])
    assert capsys.readouterr().out.endswith("; 0 rows about Ann\n")
