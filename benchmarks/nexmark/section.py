"""The tables, the picture and the text of the section of docs/reference/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt

from benchmarks.chart import PICTURES, save
from benchmarks.nexmark.published import (
    BEAM_ON_FLINK,
    FELDERA,
    FLINK_SQL,
    SOURCE,
    per_core,
)
from benchmarks.nexmark.runs import Speed, Speeds
from benchmarks.page import machine, markdown_table, write_section
from nexmark.generator import Config

OTHERS = {
    "Beam": BEAM_ON_FLINK,
    "Flink": FLINK_SQL,
    "Feldera": FELDERA,
}

PICTURE = PICTURES / "bench-nexmark.svg"


def speeds_table(speeds: Speeds) -> str:
    """Return thousands of events per second and core, by query and system."""
    numbers = sorted({number for of_system in speeds.values() for number in of_system})
    rows = [
        [f"q{number}", *(_cell(of_system.get(number)) for of_system in speeds.values())]
        for number in numbers
    ]
    return markdown_table(["query", *speeds], rows)


def _cell(speed: Speed | str | None) -> str:
    if isinstance(speed, Speed):
        return _thousands(speed.per_core)
    return speed or ""


def _thousands(rate: float | None) -> str:
    return "" if rate is None else f"{rate / 1000:,.1f}"


def ratios_table(speeds: Speeds) -> str:
    """Return the published figures, and the ratios of the runs in streaming mode to them."""
    ours = fastest(streaming(speeds))
    header = ["query", *OTHERS, *(f"{name} ÷ {other}" for name in ours for other in OTHERS)]
    numbers = sorted({number for figures in OTHERS.values() for number in figures})
    rows = [
        [
            f"q{number}",
            *(_thousands(per_core(figures, number)) for figures in OTHERS.values()),
            *(
                _ratio(of_system.get(number), per_core(figures, number))
                for of_system in ours.values()
                for figures in OTHERS.values()
            ),
        ]
        for number in numbers
        if any(number in of_system for of_system in ours.values())
    ]
    return markdown_table(header, rows)


def streaming(speeds: Speeds) -> Speeds:
    """Return the systems that ran in streaming mode, as those of the published figures."""
    return {name: of_system for name, of_system in speeds.items() if "streaming" in name}


def fastest(speeds: Speeds) -> Speeds:
    """Return the faster version of each query by runner: the one on elements, or the one on columns."""
    best: Speeds = {}
    for name, of_system in speeds.items():
        of_runner = best.setdefault(name.split()[0], {})
        for number, speed in of_system.items():
            of_runner[number] = max(of_runner.get(number, speed), speed, key=_rate)
    return best


def _rate(speed: Speed | str) -> float:
    return speed.per_core if isinstance(speed, Speed) else 0


def _ratio(speed: Speed | str | None, other: float | None) -> str:
    if not isinstance(speed, Speed) or other is None:
        return ""
    return f"{speed.per_core / other:.2f}"


def picture(speeds: Speeds) -> Any:
    """Return the chart of the systems in streaming mode, with the published figures."""
    points = [*_measured(streaming(speeds)), *_of_others()]
    numbers = {number for of_system in speeds.values() for number in of_system}
    return (
        alt.Chart(alt.Data(values=[p for p in points if p["number"] in numbers]))
        .mark_point(filled=True, size=55, opacity=0.85)
        .encode(
            x=alt.X(
                "rate:Q",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~s", tickCount=5),
                title="events per second and core",
            ),
            y=alt.Y("number:O", title="query"),
            color=alt.Color("system:N", sort=None),
            shape=alt.Shape("published:N", scale=alt.Scale(range=["circle", "diamond"])),
        )
        .properties(width=560, height=20 * len(numbers))
    )


def _measured(speeds: Speeds) -> Iterator[dict[str, Any]]:
    for name, of_system in speeds.items():
        for number, speed in of_system.items():
            if isinstance(speed, Speed):
                yield _point(name, number, speed.per_core, "measured here")


def _of_others() -> Iterator[dict[str, Any]]:
    for name, figures in OTHERS.items():
        for number in figures:
            yield _point(name, number, per_core(figures, number), "published")


def _point(system: str, number: int, rate: float | None, published: str) -> dict[str, Any]:
    return {"system": system, "number": number, "rate": rate, "published": published}


def write(own: Speeds, wheel: Speeds, config: Config) -> None:
    """Write the section and its picture."""
    save(PICTURE, picture(own))
    write_section("nexmark", text(own, wheel, config))


def text(own: Speeds, wheel: Speeds, config: Config) -> str:
    """Return the section."""
    one_in, late = round(1 / config.delayed), config.longest_delay / 1000
    return f"""
{machine()}
Command: `make bench-nexmark RUNNER="local beam spark" ARGS=--write`; flags of the benchmark set the number
of events and the queries.

A run reads {_numbers_of_events(own)} events, {config.rate:,} for each second of event time. One in
{one_in} can be late by up to {late:g} seconds, and corrects results. The unit is thousands of events
for each CPU second of all processes of a run, with the JVM and the workers of Spark. This is what a
core does in a second, whatever else the machine does; the time in which Spark waits is left out. On
Spark it includes the start of the query and of workers, which a longer run would spread over more
events. Each run computes a checksum of its results, which is compared with that of the answer in plain
Python; a wrong answer ends the benchmark.

{speeds_table(own)}

Local runs on elements have the events in memory. Runs on columns and runs on Spark read them from
Parquet files. In streaming mode a round of the local runner has 20,000 events, and a batch of Spark
100,000. Results go nowhere: they are added to the checksum where they are made.

![Events per second and core in streaming mode, with published figures](../pictures/{PICTURE.name})

Published figures of others, in thousands of events per second and core, and the ratios of Headrace in
streaming mode to them, with the faster version of a query; above 1, a core does more events here. They are
from
[Feldera's comparison]({SOURCE}):
16 cores of a machine that it does not name, the rate by the clock divided by 16, in streaming mode.
"Beam" is its Nexmark in Java on Flink, and "Flink" is Flink SQL. Of Beam on Spark it says that
streaming runs hang. The set-ups differ: the others make their events during the run, and these have
more bytes (a description, and padding); Beam's queries ask for the same in other details, and late
events are dropped. The ratios of local runs are for one process, which shares nothing with other cores.
So take all of them as orders of magnitude. Flink and Feldera compile their queries; Headrace calls
Python for each element that is not on columns.

{ratios_table(own)}
{_of_wheel(wheel)}"""


def _numbers_of_events(speeds: Speeds) -> str:
    """Return how many events a run reads, such as 200,000 (local), 400,000 (Spark)."""
    found: dict[str, set[int]] = {}
    for name, of_system in speeds.items():
        numbers = {speed.events for speed in of_system.values() if isinstance(speed, Speed)}
        found.setdefault(name.split()[0], set()).update(numbers)
    return ", ".join(
        f"{' or '.join(f'{number:,}' for number in sorted(numbers))} ({runner})"
        for runner, numbers in found.items()
    )


def _of_wheel(wheel: Speeds) -> str:
    measured = [speed for of in wheel.values() for speed in of.values() if isinstance(speed, Speed)]
    if not measured:
        return ""
    events = measured[0].events
    return f"""
Beam's wheel has queries 0 to 12 in Python. Here they run unchanged on {events:,} events, in batch mode:
on Beam's own runner in one process (`BundleBasedDirectRunner`), and on Headrace by `HeadraceRunner`.
Query 6 fails in its own code on each runner, and query 10 writes nothing. "Wrong" means that the answer
is not that of plain Python; the name of an error means that the query fails.

{speeds_table(wheel)}
"""
