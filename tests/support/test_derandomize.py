"""What ``derandomize`` draws is the same in each process."""

from importlib import import_module
from typing import Any

from hypothesis import given, settings, strategies as st


def drawn() -> list[Any]:
    examples: list[Any] = []

    @settings(derandomize=True, max_examples=200, database=None)
    @given(st.tuples(st.lists(st.integers()), st.text()))
    def note(example: Any) -> None:
        examples.append(example)

    note()
    return examples


def test_examples_do_not_depend_on_imported_modules(tmp_path, monkeypatch):
    """Constants of a module are drawn neither as integers nor as text."""
    before = drawn()
    numbers = [7_000_000 + 1_234 * n for n in range(50)]
    tmp_path.joinpath("own_constants.py").write_text(f"NUMBERS = {numbers}\nWORDS = ['ab', 'cd']\n")
    monkeypatch.syspath_prepend(tmp_path)
    import_module("own_constants")
    assert drawn() == before
