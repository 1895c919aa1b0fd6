"""The events come from the generator of the examples, which this import makes available."""

import json
import logging
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.docs.examples.conftest import EXAMPLES as EXAMPLES  # isort: skip

from nexmark.generator import events

from tests.beam.nexmark import answers
from tests.beam.nexmark.checks import CONFIG
from tests.docs.examples.nexmark_oracle import House


@pytest.fixture(scope="session")
def house() -> House:
    """What happened in the auctions of the events."""
    return House(events(CONFIG))


@pytest.fixture
def launched(
    tmp_path: Path,
    house: House,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> Callable[[Any, list[int], list[str]], dict[int, int]]:
    """A function that runs a launcher of the wheel, and returns the number of results of each query."""

    def run(launcher: Any, queries: list[int], flags: list[str]) -> dict[int, int]:
        events = tmp_path / "events.json"
        events.write_text("".join(json.dumps(answers.to_json(e)) + "\n" for e in house.events))
        chosen = [f"--query={number}" for number in queries]
        argv = ["nexmark_launcher", f"--input={events}", *flags, *chosen]
        monkeypatch.setattr(sys, "argv", argv)
        with caplog.at_level(logging.INFO):
            launcher.NexmarkLauncher().run()
        assert f"Queries run: {queries}" in caplog.text
        counts = re.findall(r"input event count: (\d+), output event count: (-?\d+)", caplog.text)
        assert [int(read) for read, _ in counts] == [len(house.events)] * len(queries)
        return {number: int(count) for number, (_, count) in zip(queries, counts, strict=True)}

    return run
