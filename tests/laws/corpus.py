"""Found cases: runs that once broke a law, kept as readable data and tried again each time.

``make laws`` and ``make laws-runner`` write the smallest run that breaks a law to ``tests/laws/found``, one
file per run, with the name of the test. Commit it with the fix. A file holds the expression that makes the
run; ``print(program(run))`` shows it as a program.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings, strategies as st
from hypothesis.errors import HypothesisException

import headrace.testing.strategies
import headrace.triggers
import headrace.windowing
from headrace.sdk.testing.runs.programs import code
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.strategies.columns import on_columns

FOUND = Path(__file__).parent / "found"
KEEPS = "HEADRACE_CASES" in os.environ
"""Whether this is ``make laws``."""

Test = Callable[..., None]


def law(runs: st.SearchStrategy[Run], **others: Any) -> Callable[[Test], Any]:
    """Run a test on drawn runs (its argument ``run``), and keep the smallest run that fails.

    The elements of half of the runs reach the first steps as columns, where they can.

    Args:
        runs: the runs.
        others: strategies for other arguments, by name.
    """

    def decorate(test: Test) -> Any:
        on_both_paths = st.one_of(runs, on_columns(runs))
        drawn: Any = given(run=on_both_paths, **others)(
            keeping_failures(test, FOUND) if KEEPS else test
        )

        def on(run: Run) -> None:
            """Try it on one run."""
            fixtures = {"runner": "local"} if "runner" in inspect.signature(test).parameters else {}
            again = settings(max_examples=20, database=None)
            again(given(run=st.just(run), **others)(test))(**fixtures)

        drawn.on = on
        return drawn

    return decorate


def keeping_failures(test: Test, folder: Path) -> Test:
    """The test, writing each failing run; the last is the smallest, since Hypothesis ends with it."""
    written: list[Path] = []
    signature = inspect.signature(test)

    def keeping(*given: Any, **others: Any) -> None:
        try:
            test(*given, **others)
        except HypothesisException:
            raise  # the law does not apply to this run
        except Exception:
            while written:
                written.pop().unlink(missing_ok=True)
            run = signature.bind(*given, **others).arguments["run"]
            written.append(keep(run, f"{test.__module__}.{test.__name__}", folder))
            raise

    keeping.__name__, keeping.__qualname__ = test.__name__, test.__qualname__
    keeping.__module__, keeping.__doc__ = test.__module__, test.__doc__
    keeping.__dict__.update(test.__dict__)  # the marks of pytest
    keeping.__signature__ = signature  # type: ignore[attr-defined]
    return keeping


def keep(run: Run, finder: str, folder: Path) -> Path:
    """Write a run and the name of the test that it fails; return the path."""
    text = as_expression(run)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    path = folder / f"{finder.rpartition('.')[2]}-{digest}.run"
    folder.mkdir(exist_ok=True)
    path.write_text(f"# {finder}\n{text}")
    return path


def as_expression(run: Run) -> str:
    """The expression that makes a run, one line per event and step."""
    lines = ["Run("]
    for name in ("script", "steps", "other"):
        parts = getattr(run, name)
        if parts or name != "other":
            lines += [f"    {name}=(", *(f"        {code(part)}," for part in parts), "    ),"]
    lines += ["    columns=True,"] * run.columns
    return "\n".join([*lines, ")\n"])


def read(path: Path) -> tuple[str, Run]:
    """The name of the test that a run failed, and the run."""
    text = path.read_text()
    names: dict[str, Any] = {}
    for home in (headrace.testing.strategies, headrace.triggers, headrace.windowing):
        names |= {name: getattr(home, name) for name in home.__all__}
    return text.splitlines()[0].removeprefix("# "), eval(text, names)
