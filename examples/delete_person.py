"""Delete what a person left: a row is deleted in a database, and is gone from every result.

    python examples/delete_person.py
    python examples/delete_person.py --runner=spark --streaming

A shop has two tables, people and visits, whose changes are messages of Debezium. The job keeps four results
in an SQLite database: the visits of each page by hour, the sessions of each person, the visits with the names
of the visitors, and the visits of each city by hour, from this join. It runs twice: over all messages up to
the moment at which Ann asks to be deleted, and over all messages.

The row of a person takes its visits with it (``on delete cascade``), so Debezium reports these too. Results
that join people would lose the visits in any case.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Final

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions
from headrace.triggers import AccumulationMode, AfterCount, Repeatedly
from headrace.windowing import WindowFn

HOUR = 3600
START = 1_767_225_600
PEOPLE = {1: ("Ann", "Ely"), 2: ("Bob", "Ely"), 3: ("Cay", "Wells")}
ANN = 1

Message = tuple[bytes, bytes | None]
"""The key of a row and the envelope of its change, as they are in a topic; None after a deletion."""


class Log:
    """The changes of a database, in their order."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.rows: dict[tuple[str, int], dict[str, Any]] = {}

    def write(self, table: str, row: dict[str, Any]) -> None:
        """Insert or update a row."""
        before = self.rows.get((table, row["id"]))
        self.rows[table, row["id"]] = row
        self._tell("u" if before else "c", table, row["id"], before, row)

    def delete(self, table: str, number: int) -> None:
        """Delete a row; a tombstone follows."""
        before = self.rows.pop((table, number))
        self._tell("d", table, number, before, None)
        self.messages.append((_key(number), None))

    def _tell(self, op: str, table: str, number: int, before: Any, after: Any) -> None:
        source = {"connector": "postgresql", "table": table, "lsn": len(self.messages)}
        envelope = {"op": op, "before": before, "after": after, "source": source}
        self.messages.append((_key(number), json.dumps(envelope).encode()))


def _key(number: int) -> bytes:
    return json.dumps({"id": number}).encode()


def history(seed: int = 1) -> tuple[Log, int]:
    """Return all changes, and how many of them there are when Ann asks to be deleted."""
    random, log = Random(seed), Log()
    for number, (name, city) in PEOPLE.items():
        log.write("people", {"id": number, "name": name, "city": city})
    for number in range(120):
        at = START + random.randrange(6 * HOUR)
        page = random.choice(["home", "shoes", "boats"])
        log.write("visits", {"id": number, "person": 1 + number % 3, "page": page, "at": at})
    log.write("people", {"id": 2, "name": "Bob", "city": "Wells"})
    asked = len(log.messages)
    for number in range(0, 120, 3):
        log.delete("visits", number)
    log.delete("people", ANN)
    return log, asked


AT_ONCE: Final[dict[str, Any]] = {
    "trigger": Repeatedly(AfterCount(1)),
    "accumulation_mode": AccumulationMode.RETRACTING,
    "allowed_lateness": hr.window.FOREVER,
}
"""Results follow each change, at any time later."""


def windows(window_fn: WindowFn) -> hr.WindowInto:
    """Return the step that puts rows into windows that are kept forever."""
    return hr.WindowInto(window_fn, **AT_ONCE)


def table_of(messages: hr.PCollection[Any], name: str, timestamp: str | None) -> Any:
    """Return the rows of a table."""
    return messages | name >> hr.FromDebezium(table=name, timestamp=timestamp)


def build(p: hr.Pipeline, messages: list[Message], database: Path) -> None:
    """Build the pipeline: messages in, four results out."""
    told = p | "Messages" >> hr.Create(messages)
    people, visits = table_of(told, "people", None), table_of(told, "visits", "at")
    everywhere, hourly = hr.window.GlobalWindows(), hr.window.FixedWindows(HOUR)

    pages = visits | "Page" >> hr.Map(lambda row: row["page"]) | "By hour" >> windows(hourly)
    _ = pages | "Pages" >> hr.combiners.Count.PerElement() | _into(database, "pages", "page")

    persons = visits | "Person" >> hr.Map(lambda row: (row["person"], row["page"]))
    sessions = persons | "Session" >> windows(hr.window.Sessions(HOUR / 2))
    _ = sessions | "Views" >> hr.combiners.Count.PerKey() | _into(database, "sessions", "person")

    named = people | "By id" >> hr.Map(lambda row: (row["id"], row)) | "All" >> windows(everywhere)
    made = visits | "By person" >> hr.Map(lambda row: (row["person"], row)) | windows(everywhere)
    joined = (named, made) | hr.InnerJoin()
    columns = ["visit", "name", "page"]
    rows = joined | "Visit" >> hr.MapTuple(
        lambda _, both: (both[1]["id"], both[0]["name"], both[1]["page"])
    )
    _ = rows | hr.io.WriteToTable(database, "visits", key="visit", columns=columns)

    timed = joined | "Time" >> hr.WithTimestamps(lambda pair: pair[1][1]["at"])
    cities = timed | "City" >> hr.MapTuple(lambda _, both: both[0]["city"])
    counts = cities | "In hours" >> windows(hourly) | "Cities" >> hr.combiners.Count.PerElement()
    _ = counts | _into(database, "cities", "city")


def _into(database: Path, table: str, key: str) -> Any:
    columns = [key, "visits"]
    return hr.io.WriteToTable(database, table, key=key, columns=columns, windows=True)


def read(database: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of all results."""
    with closing(sqlite3.connect(database)) as connection:
        return {table: sorted(connection.execute(f"select * from {table}")) for table in RESULTS}


RESULTS: Final = ("pages", "sessions", "visits", "cities")


def mentions(results: dict[str, list[tuple[Any, ...]]]) -> Iterator[str]:
    """Yield the rows that are about Ann."""
    for table, rows in results.items():
        for row in rows:
            if "Ann" in row or (table == "sessions" and row[0] == ANN):
                yield f"{table}: {row}"


def run(messages: list[Message], database: Path, flags: list[str]) -> str:
    """Run the job, and return its state."""
    database.unlink(missing_ok=True)
    with hr.Pipeline(options=PipelineOptions(["--max-records-per-batch=30", *flags])) as p:
        build(p, messages, database)
    return p.result.state if p.result else "UNKNOWN"


def main(argv: list[str] | None = None) -> bool:
    """Run the job before and after the deletion, and print what it says of Ann."""
    parser = ArgumentParser(
        description=__doc__, epilog="Other flags go to the pipeline, such as --runner."
    )
    parser.add_argument("--directory", type=Path, default=Path("out/delete_person"))
    args, flags = parser.parse_known_args(argv)
    args.directory.mkdir(parents=True, exist_ok=True)
    log, asked = history()
    for name, messages in (("before", log.messages[:asked]), ("after", log.messages)):
        database = args.directory / f"{name}.db"
        if run(messages, database, flags) != "DONE":
            print("The run was stopped, so its results are not complete.")
            return False
        results = read(database)
        numbers = ", ".join(f"{len(rows)} {table}" for table, rows in results.items())
        print(f"{name}: {numbers}; {len(list(mentions(results)))} rows about Ann")
    return True


if __name__ == "__main__":
    sys.exit(not main())
