"""Options come from flags, dictionaries and names; views share them."""

import pytest

import headrace as hr
from headrace.options.pipeline_options import (
    PipelineOptions,
    SetupOptions,
    StandardOptions,
    TypeOptions,
)


class Mill(PipelineOptions):
    @classmethod
    def _add_argparse_args(cls, parser):
        parser.add_argument("--wheels", type=int, default=1)
        parser.add_argument("--stones", action="append")


class Windmill(Mill):
    @classmethod
    def _add_argparse_args(cls, parser):
        parser.add_argument("--sails", default="four")


def test_flags_are_parsed() -> None:
    mill = Mill(["--wheels=3", "--stones=a", "--stones", "b"])
    assert (mill.wheels, mill.stones) == (3, ["a", "b"])


def test_flags_come_from_the_command_line(monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["program", "--wheels=7"])
    assert Mill().wheels == 7
    assert Mill([]).wheels == 1


def test_a_subclass_has_the_options_of_its_base() -> None:
    windmill = Windmill(["--wheels=2"])
    assert (windmill.wheels, windmill.sails) == (2, "four")


def test_unknown_flags_are_kept() -> None:
    options = PipelineOptions(["--wheels=3", "--unheard=1", "--of", "x", "--yes"])
    assert options.view_as(Mill).wheels == 3
    everything = options.get_all_options(retain_unknown_options=True)
    assert (everything["unheard"], everything["of"], everything["yes"]) == ("1", "x", True)
    assert "unheard" not in options.get_all_options()


def test_views_share_their_values() -> None:
    options = PipelineOptions([])
    options.view_as(Mill).wheels = 9
    assert options.view_as(Mill).wheels == 9
    assert options.get_all_options()["wheels"] == 9


def test_a_class_adds_its_flags_once_for_all_views_of_the_same_options() -> None:
    added = []

    class Counting(PipelineOptions):
        @classmethod
        def _add_argparse_args(cls, parser):
            added.append(cls)
            parser.add_argument("--grain", default="rye")

    options = PipelineOptions(["--grain=oats"])
    assert [options.view_as(Counting).grain for _ in range(3)] == ["oats"] * 3
    assert options.view_as(StandardOptions).view_as(Counting).grain == "oats"
    assert len(added) == 1
    assert PipelineOptions([]).view_as(Counting).grain == "rye"
    assert len(added) == 2


def test_names_win_over_flags() -> None:
    options = PipelineOptions(["--wheels=3"], wheels=4, streaming=True)
    assert options.view_as(Mill).wheels == 4
    assert options.view_as(StandardOptions).streaming


def test_options_from_a_dictionary() -> None:
    options = PipelineOptions.from_dictionary(
        {"wheels": 5, "stones": ["a", "b"], "streaming": True, "runner": None, "progress": False}
    )
    assert options.view_as(Mill).wheels == 5
    assert options.view_as(Mill).stones == ["a", "b"]
    standard = options.view_as(StandardOptions)
    assert (standard.streaming, standard.runner, standard.progress) == (True, None, False)


def test_all_options_but_the_defaults() -> None:
    options = PipelineOptions(["--wheels=2", "--runner=local"])
    assert options.get_all_options(drop_default=True) == {"wheels": 2, "runner": "local"}
    assert Mill(["--wheels=2"]).get_all_options(current_only=True) == {"wheels": 2, "stones": None}


def test_where_there_are_no_unknown_flags_none_are_retained() -> None:
    assert PipelineOptions([]).get_all_options(retain_unknown_options=True)["streaming"] is False


def test_flags_that_only_a_runner_knows() -> None:
    def add(parser):
        parser.add_argument("--only_here", default="x")

    assert PipelineOptions([]).get_all_options(add_extra_args_fn=add)["only_here"] == "x"


@pytest.mark.parametrize("name", ["wheels", "nonsense"])
def test_an_option_is_seen_through_its_own_class(name) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(StandardOptions([]), name)
    with pytest.raises(AttributeError, match=name):
        setattr(StandardOptions([]), name, 1)


def test_options_show_themselves() -> None:
    assert repr(Windmill(["--sails=six"])) == "Windmill(sails='six', stones=None, wheels=1)"
    assert "wheels" in dir(Mill([]))


def test_one_string_is_no_list_of_flags() -> None:
    with pytest.raises(hr.PipelineError, match="single string"):
        PipelineOptions("--wheels=3")


def test_built_in_options() -> None:
    options = PipelineOptions([])
    standard = options.view_as(StandardOptions)
    assert (standard.runner, standard.streaming, standard.progress) == (None, False, None)
    assert not options.view_as(TypeOptions).allow_unsafe_triggers
    options.view_as(SetupOptions).save_main_session = True


def test_a_pipeline_takes_options_and_flags() -> None:
    assert hr.Pipeline(argv=["--streaming"]).options.view_as(StandardOptions).streaming
    mill = Mill(["--wheels=3"])
    assert hr.Pipeline(options=mill).options.view_as(Mill).wheels == 3


def test_a_list_of_one_object_is_not_that_of_others() -> None:
    PipelineOptions([]).view_as(StandardOptions).resource_hints.append("gpu")
    assert PipelineOptions([]).view_as(StandardOptions).resource_hints == []
