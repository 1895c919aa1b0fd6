"""The section of the bank on the page of benchmarks, from the outcomes of one or more runs of the command.

Outcomes are kept in a file, so that runs on different days and systems make one table; each has its machine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from benchmarks.bank.outcome import Outcome
from benchmarks.page import PAGE, machine, markdown_table, write_section

KEPT: Final = Path(__file__).parents[2] / "out" / "bank.json"

HEADER: Final = [
    "system and program",
    "transfers",
    "totals seen after batches",
    "wrong",
    "totals seen from outside",
    "wrong",
    "furthest from 0",
    "corrections seen",
    "last balances that differ",
    "transfers a second",
]

INTRODUCTION: Final = """
Transfers between 1,000 accounts arrive out of order. Credits are summed by the account that receives them,
debits by the account that pays, and a join of both gives the balances. A transfer moves money and makes none,
so the total of all balances is 0, and a reader that sees another total has seen a state that never was. This
is the test of [Internal consistency in streaming
systems](https://www.scattered-thoughts.net/writing/internal-consistency-in-streaming-systems/) (Jamie
Brandon, 2021), in which some systems show wrong totals at half of the moments or more.

Balances go into a table of PostgreSQL, each batch in one transaction. A reader adds them up after each batch,
and another process does so all the time. The last balances are compared with plain Python. The rates include
the readers and other work of the machine: they tell how long the runs took.
"""

PROGRAMS: Final = """
- **At present**: the balances after each batch. A balance that has changed is retracted, so the join and the
  total see the correction. A second table has the total, and a third one each value and each retraction; the
  reader adds up all three.
- **By day**: what each day changes, in windows of event time with early panes. 2 in 100 transfers are up to
  two days late, and correct days that were complete. The total of each day must be 0.
- **Discarding**: without retractions. Credits, debits and the join emit only what is new, and a last grouping
  adds it up. This is the one of the three that Beam can express; it runs on both from the same code.
"""

COMPARED: Final = """
- **Beam** has no batches: the reader looks after each bundle that the sink has written in a transaction. Its
  runner gets fewer transfers, since it is slow.
- **Structured Streaming** refuses the program, a join of two aggregations that are still refined:
  "{refusal}".
  "Two queries" computes credits and debits apart, and a view joins both tables. "No join" changes the
  program: each transfer becomes two entries, and one aggregation adds them up.
"""

COMMANDS: Final = """
`make test-bank` runs the programs of Headrace, and with `RUNNER=spark` those on Spark; its options add the
others.
"""


def row_of(name: str, outcome: Outcome) -> list[str]:
    """Return an outcome as a row of the table."""
    after, outside = outcome.after_batches, outcome.outside
    furthest = max(after.furthest, outside.furthest, key=abs)
    numbers = [
        outcome.transfers,
        after.moments,
        after.wrong,
        outside.moments,
        outside.wrong,
        furthest,
        outcome.corrections,
        outcome.differing,
        round(outcome.transfers / outcome.seconds),
    ]
    return [name, *(f"{number:,}" for number in numbers)]


def write(outcomes: dict[str, Outcome], refusal: str, page: Path = PAGE, kept: Path = KEPT) -> None:
    """Add outcomes to those that are kept, and write the section."""
    before: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    rows = before.get("rows", {}) | {name: row_of(name, each) for name, each in outcomes.items()}
    said = refusal or before.get("refusal", "")
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps({"rows": rows, "refusal": said}))
    parts = [INTRODUCTION, markdown_table(HEADER, [rows[name] for name in sorted(rows)])]
    notes = PROGRAMS + (COMPARED.format(refusal=said).lstrip() if said else "")
    parts += [notes, COMMANDS, machine()]
    write_section("bank", "\n\n".join(part.strip() for part in parts), page)
