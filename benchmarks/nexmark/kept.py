"""Keeps what was measured, so that runs of several commands are in one table."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.nexmark.runs import Speed, Speeds
from tests.support.repository import ROOT

PATH = ROOT / "out" / "bench-nexmark.json"


def with_kept(name: str, speeds: Speeds) -> Speeds:
    """Return the speeds of a table, with those of systems that were measured before; and keep all."""
    everything: dict[str, Any] = json.loads(PATH.read_text()) if PATH.exists() else {}
    of_table = everything.setdefault(name, {})
    for system, of_system in speeds.items():
        found = {str(number): _to_json(speed) for number, speed in of_system.items()}
        of_table.setdefault(system, {}).update(found)
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(everything, indent=1))
    return {
        system: {int(number): _from_json(found) for number, found in of_system.items()}
        for system, of_system in sorted(of_table.items(), key=lambda item: item[0].lower())
    }


def _to_json(speed: Speed | str) -> Any:
    return speed if isinstance(speed, str) else [speed.events, speed.seconds, speed.cpu]


def _from_json(found: Any) -> Speed | str:
    return found if isinstance(found, str) else Speed(*found)
