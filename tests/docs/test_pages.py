"""Pages are parsed into steps, and their output is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.doc_pages import Command, File, Printed, Python, needs_spark, steps
from tests.docs.run_pages import agree, run_page

PAGE = """
```python
print("b\\na")
```

```text title="in any order"
a
b
```

```python title="two.py"
print(1)
print(2)
```

```console
$ python two.py \\
    --flag
1
2
$ make demo
```
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_a_page_is_python_files_and_commands(page: Path) -> None:
    assert list(steps(page)) == [
        Python('print("b\\na")\n', 2, Printed("a\nb\n", in_any_order=True)),
        File("two.py", "print(1)\nprint(2)\n"),
        Command("python two.py      --flag", Printed("1\n2\n")),
        Command("make demo", Printed("")),
    ]


def test_what_it_says_is_done(page: Path) -> None:
    run_page(page)
    assert Path("two.py").exists()


@pytest.mark.parametrize(("said", "instead"), [("a\nb\n```", "a\nc\n```"), ("2\n$", "3\n$")])
def test_a_page_that_says_something_else_fails(page: Path, said: str, instead: str) -> None:
    page.write_text(PAGE.replace(said, instead))
    with pytest.raises(AssertionError, match="printed by"):
        run_page(page)


def test_a_command_that_fails_fails_the_page(page: Path) -> None:
    page.write_text(PAGE.replace("print(2)", "raise SystemExit(3)"))
    with pytest.raises(AssertionError, match=r"\$ python two.py"):
        run_page(page)


def test_a_block_on_spark_makes_a_page_for_spark(page: Path) -> None:
    assert not needs_spark(page)
    page.write_text(PAGE.replace("```console", '```console title="on Spark"'))
    assert needs_spark(page)


def test_dots_stand_for_anything() -> None:
    assert agree("took 3 s\n", Printed("took ... s\n"))
    assert not agree("took 3 m\n", Printed("took ... s\n"))
