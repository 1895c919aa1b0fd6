"""Value providers: known values, values of the run, values computed from others, and values as paths."""

import pickle

import pytest

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions
from headrace.options.value_provider import (
    NestedValueProvider,
    RuntimeValueProvider,
    StaticValueProvider,
    ValueProvider,
    check_accessible,
)
from headrace.testing import TestPipeline, assert_that, equal_to


class Files(PipelineOptions):
    @classmethod
    def _add_argparse_args(cls, parser):
        parser.add_value_provider_argument("--letters_in")
        parser.add_value_provider_argument("--letters-out", default="somewhere")
        parser.add_value_provider_argument("--turns", type=int, default=3)


def test_a_flag_that_is_given_is_known_at_once() -> None:
    turns = Files(["--turns=4"]).turns
    assert isinstance(turns, StaticValueProvider)
    assert (turns.get(), turns.is_accessible(), str(turns)) == (4, True, "4")
    assert turns == 4 == StaticValueProvider(int, "4")
    assert turns != StaticValueProvider(float, 4)
    assert {turns, 4} == {4}


def test_another_flag_is_known_in_a_run_only() -> None:
    turns = Files([]).turns
    assert isinstance(turns, RuntimeValueProvider)
    assert not turns.is_accessible()
    with pytest.raises(RuntimeError, match="--turns is known only in a run"):
        turns.get()
    assert str(turns) == "RuntimeValueProvider(option: turns, type: int, default_value: 3)"
    assert "turns" not in Files([]).get_all_options(drop_default=True)
    assert Files(["--turns=3"]).get_all_options(drop_default=True) == {"turns": 3}


def test_a_wrong_value_is_refused_with_the_flag(capsys) -> None:
    with pytest.raises(SystemExit):
        Files(["--turns=many"])
    assert "argument --turns: invalid int value: 'many'" in capsys.readouterr().err


def test_a_provider_is_pickled_with_the_value_of_the_run() -> None:
    turns = Files([]).turns
    assert isinstance(pickle.loads(pickle.dumps(turns)), RuntimeValueProvider)
    try:
        RuntimeValueProvider.set_runtime_options({"turns": "8"})
        sent = pickle.dumps(turns)
    finally:
        RuntimeValueProvider.set_runtime_options(None)
    assert pickle.loads(sent).get() == 8


def test_a_failed_run_ends_the_access_to_its_values() -> None:
    turns = Files([]).turns
    with pytest.raises(ZeroDivisionError), TestPipeline() as p:
        p | hr.Create([0]) | hr.Map(lambda x: 1 // x)
    assert not turns.is_accessible()


def test_a_nested_value_is_computed_once() -> None:
    calls: list[str] = []

    def note(directory):
        calls.append(directory)
        return "x"

    nested = NestedValueProvider(StaticValueProvider(str, "in"), note)
    assert (nested.get(), nested.get(), calls) == ("x", "x", ["in"])
    assert str(nested) == "NestedValueProvider(value: in, translator: note)"
    assert not NestedValueProvider(Files([]).turns, str).is_accessible()


def test_methods_that_need_a_value() -> None:
    class Reader:
        def __init__(self, turns):
            self.turns = turns

        @check_accessible(["turns"])
        def read(self, times):
            return self.turns.get() * times

    assert Reader(StaticValueProvider(int, 4)).read(times=2) == 8
    with pytest.raises(RuntimeError, match="option: turns"):
        Reader(Files([]).turns).read(2)


def test_a_provider_is_a_path(tmp_path) -> None:
    (tmp_path / "in.txt").write_text("a\nb\n")
    files = Files([f"--letters_in={tmp_path}/in.txt", f"--letters-out={tmp_path}/out"])
    with TestPipeline(options=files) as p:
        lines = p | hr.io.ReadFromText(files.letters_in)
        assert_that(lines, equal_to(["a", "b"]))
        lines | hr.io.WriteToText(files.letters_out)
    assert (tmp_path / "out-00000-of-00001").read_text() == "a\nb\n"


def test_a_path_whose_flag_is_not_given() -> None:
    with pytest.raises(hr.PipelineError, match="the flag --letters_in is not given") as refusal:
        hr.Pipeline() | hr.io.ReadFromText(Files([]).letters_in)
    assert "--letters_in=VALUE" in str(refusal.value)
    with pytest.raises(hr.FileError, match="somewhere"):  # its default value
        hr.Pipeline() | hr.io.ReadFromText(Files([]).letters_out)


def test_a_provider_of_your_own() -> None:
    class Fixed(ValueProvider):
        def is_accessible(self):
            return True

        def get(self):
            return "nowhere.txt"

    with pytest.raises(hr.FileError, match=r"nowhere\.txt"):
        hr.Pipeline() | hr.io.ReadFromText(Fixed())
    with pytest.raises(NotImplementedError, match="does not define get"):
        ValueProvider().get()
