"""The page about Beam's names comes from a comparison with Beam."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.repository import ROOT


@pytest.fixture(autouse=True)
def tools_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])


class Theirs:
    def __init__(self, size: int, label: str = "") -> None: ...

    def shown(self) -> None: ...

    def to_runner_api_parameter(self) -> None: ...


Theirs.__module__ = "apache_beam.transforms.made_up"


class Ours:
    def __init__(self, size: int) -> None: ...


class Takes:
    shown = None

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...


def test_arguments_and_attributes_that_are_missing_are_named() -> None:
    from beam_reference import differences

    assert list(differences(Theirs, Ours)) == [
        "without the arguments `label`",
        "without the attributes `shown`",
    ]
    assert list(differences(Theirs, Takes)) == []
    assert list(differences(Theirs, Theirs)) == []


def test_a_missing_name_needs_a_reason_and_a_reason_a_name() -> None:
    from beam_reference import MISSING, SAME, Data, Row, problems

    rows = [Row("Lost", MISSING, ""), Row("Found", SAME, ""), Row("Told", MISSING, "use another")]
    found = problems({"made.up": rows}, [Row("other", "", "")])
    assert found[:2] == ["no reason for the module other", "no reason why made.up.Lost is missing"]
    assert all(
        "[names]" in text or "[modules]" in text or "[different]" in text for text in found[2:]
    )
    assert len(found) == 2 + sum(
        map(len, (Data.read().names, Data.read().modules, Data.read().different))
    )


def test_the_row_of_a_missing_name_has_the_text_that_programs_get(monkeypatch: Any) -> None:
    from beam_reference import MISSING, _row

    import headrace.transforms.util as own
    from headrace.sdk.beam.names import BEAM_NAMES

    row = _row("transforms.util", "RemoveDuplicates", Theirs, own)
    assert (row.status, row.text) == (MISSING, BEAM_NAMES["RemoveDuplicates"])
    assert _row("transforms.util", "RemoveDuplicates", Theirs, None).status == MISSING


def test_the_page_is_in_the_navigation() -> None:
    navigation = Path(ROOT / "mkdocs.yml").read_text()
    assert "reference/beam.md" in navigation
    assert "reference/beam-tests.md" in navigation
