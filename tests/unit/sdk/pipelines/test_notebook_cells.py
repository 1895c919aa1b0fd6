"""A cell of a notebook that is run again replaces its steps; a script has an error for a label in use."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import headrace as hr
from headrace.sdk.pipelines.notebook.notebook_cells import current_cell


class Notebook:
    """A notebook: cells with ids, as Jupyter has them, or without."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._parent: dict[str, Any] = {}
        shell.get_parent = lambda: self._parent

    def run(self, source: str, cell: str = "") -> Any:
        """Run a cell; an error in it is raised."""
        self._parent = {"metadata": {"cellId": cell}} if cell else {}
        done = self._shell.run_cell(source, store_history=True)
        done.raise_error()
        return done.result

    def __getitem__(self, name: str) -> Any:
        return self._shell.user_ns[name]

    @property
    def steps(self) -> list[str]:
        return [node.label for node in self["p"].graph]


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    shell: Any = InteractiveShell.instance()
    shell.history_manager.enabled = False
    found = Notebook(shell)
    found.run("import headrace as hr\np = hr.Pipeline(argv=[])\nseen = []")
    yield found
    found.run("_ = p.graph  # used, so that no warning says that it never ran")
    InteractiveShell.clear_instance()
    assert current_cell() is None


READ = "words = p | 'Words' >> hr.Create(['b', 'a'])"
COUNT = "counts = words | 'Count' >> hr.combiners.Count.PerElement()"
NOTE = "_ = counts | 'Note' >> hr.Map(seen.append)"


@pytest.mark.parametrize("ids", [("r", "c", "n"), ("", "", "")], ids=["ids", "sources"])
def test_a_cell_that_is_run_again_replaces_its_steps(notebook: Notebook, ids: Any) -> None:
    cells = list(zip((READ, COUNT, NOTE), ids, strict=True))
    for cell in cells:
        notebook.run(*cell)
    before = notebook.steps
    notebook.run(*cells[2])
    assert notebook.steps == before
    notebook["p"].run()
    assert sorted(notebook["seen"]) == [("a", 1), ("b", 1)]


def test_what_reads_a_replaced_step_is_removed_and_named(
    notebook: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    for source, cell in ((READ, "r"), (COUNT, "c"), (NOTE, "n")):
        notebook.run(source, cell)
    capsys.readouterr()
    notebook.run("words = p | 'Words' >> hr.Create(['c'])", "r")
    assert notebook.steps == ["Words"]
    said = capsys.readouterr().err
    assert "its step 'Words' is replaced" in said
    assert "run again the cells that apply 'Count', 'Note'" in said
    with pytest.raises(
        hr.PipelineError, match=r"its input Count.* was removed when a cell was run"
    ):
        notebook.run(NOTE, "n")
    notebook.run(COUNT, "c")
    notebook.run(NOTE, "n")
    assert capsys.readouterr().err == ""
    notebook["p"].run()
    assert notebook["seen"] == [("c", 1)]


def test_an_edited_cell_replaces_steps_that_it_no_longer_has(notebook: Notebook) -> None:
    notebook.run(READ, "r")
    notebook.run("_ = words | 'First' >> hr.Map(seen.append)", "n")
    notebook.run("_ = words | 'Second' >> hr.Map(seen.append)", "n")
    assert notebook.steps == ["Words", "Second"]
    labels = [part.full_label for part in notebook["p"].applied.parts]
    assert labels == ["Words", "Second"]


def test_side_inputs_are_followed(notebook: Notebook) -> None:
    notebook.run(READ, "r")
    notebook.run("more = p | 'More' >> hr.Create([1])", "m")
    notebook.run("_ = words | 'Both' >> hr.Map(lambda w, m: None, hr.pvalue.AsList(more))", "b")
    notebook.run("more = p | 'More' >> hr.Create([1])", "m")
    assert notebook.steps == ["Words", "More"]


def test_a_label_of_another_cell_stays_an_error(notebook: Notebook) -> None:
    notebook.run(READ, "r")
    with pytest.raises(hr.PipelineError, match="the label 'Words' is already in use"):
        notebook.run("others = p | 'Words' >> hr.Create(['d'])", "other")
    with pytest.raises(hr.PipelineError, match="the label 'Words' is already in use"):
        notebook.run(f"{READ}\n{READ}", "r")
    assert notebook.steps == ["Words"]


def test_unique_labels_number_the_steps_of_other_cells_only(notebook: Notebook) -> None:
    notebook.run("p = hr.Pipeline(argv=['--auto_unique_labels'])")
    for cell in ("one", "two", "two"):
        notebook.run(READ, cell)
    assert notebook.steps == ["Words", "Words_2"]


def test_a_step_that_reads_its_own_earlier_run_is_refused(notebook: Notebook) -> None:
    notebook.run(READ, "r")
    twice = "words = words | 'Twice' >> hr.Map(lambda w: w + w)"
    notebook.run(twice, "t")
    with pytest.raises(hr.PipelineError, match="its input Twice was removed") as refused:
        notebook.run(twice, "t")
    assert refused.value.remedy == "run the cell again that applies it, then this one"
    notebook.run(READ, "r")
    notebook.run(twice, "t")
    assert notebook.steps == ["Words", "Twice"]


def test_a_removed_collection_cannot_be_shown(notebook: Notebook) -> None:
    notebook.run(READ, "r")
    notebook.run(COUNT, "c")
    notebook.run(READ, "r")
    with pytest.raises(hr.PipelineError, match=r"not in the pipeline: .* a cell was run"):
        notebook.run("hr.show(counts)")


def test_a_pipeline_that_has_run_is_not_changed(notebook: Notebook) -> None:
    notebook.run(READ, "r")
    notebook["p"].run()
    with pytest.raises(hr.PipelineError, match="already run"):
        notebook.run(READ, "r")
    assert notebook.steps == ["Words"]


SCRIPT = """
import sys
import headrace as hr
p = hr.Pipeline(argv=[])
for _ in range(2):
    _ = p | "Words" >> hr.Create(["a"])
"""


def test_in_a_script_a_label_in_use_is_an_error() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 1
    assert "the label 'Words' is already in use" in done.stderr


# ------------------------------------------------------------------------------ print


def test_print_shows_the_plan() -> None:
    p = hr.Pipeline(argv=[])
    assert str(p) == "Pipeline with 0 steps, not run"
    pairs = p | "Pairs" >> hr.Create([("a", 1)])
    _ = pairs | "Sum" >> hr.CombinePerKey(sum)
    head, *plan = str(p).splitlines()
    assert head == "Pipeline with 2 steps, not run"
    assert "\n".join(plan) == str(hr.explain(p))
    p.run()
    assert str(p).startswith("Pipeline with 2 steps, DONE")


def test_ipython_on_a_terminal_shows_the_plan(notebook: Notebook) -> None:
    notebook.run(READ, "r")
    from IPython.lib.pretty import pretty

    assert pretty(notebook["p"]) == str(notebook["p"])
