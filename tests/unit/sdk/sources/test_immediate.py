"""Transforms on plain values run at once."""

from typing import Any

import pytest

import headrace as hr


def doubled(n):
    return 2 * n


@pytest.mark.parametrize("values", [[1, 2], range(1, 3), {1, 2}, iter([1, 2])])
def test_an_iterable_on_the_left_gives_a_list(values):
    assert values | hr.Map(doubled) == [2, 4]


def test_labels_chains_and_composites_run_at_once():
    assert [1] | "twice" >> hr.Map(doubled) == [2]
    assert [1] | (hr.Map(doubled) | hr.Map(str)) == ["2"]
    assert [1, 2] | hr.CombineGlobally(sum) == [3]
    assert run([], hr.Map(doubled)) == []


def run(left: Any, transform: Any) -> Any:
    return left | transform


def test_a_tuple_or_dict_is_several_collections():
    left, right = [("a", 1)], [("a", 2)]
    assert run((left, right), hr.CoGroupByKey()) == [("a", ([1], [2]))]
    assert run([left, right], hr.CoGroupByKey()) == [("a", ([1], [2]))]
    assert run({"x": left, "y": right}, hr.CoGroupByKey()) == [("a", {"x": [1], "y": [2]})]
    assert run((left, right), hr.InnerJoin()) == [("a", (1, 2))]
    assert sorted(run(([1], [2, 3]), hr.Flatten())) == [1, 2, 3]
    assert sorted(run([[1], [2, 3]], hr.Flatten())) == [1, 2, 3]


def test_several_outputs_are_lists_by_tag():
    def split(n):
        return hr.TaggedOutput("odd", n) if n % 2 else n

    both = [1, 2, 3] | hr.Map(split).with_outputs("odd", main="even")
    assert both == {"even": [2], "odd": [1, 3]}
    assert [1, 2] | hr.Map(split).with_outputs("odd") == {None: [2], "odd": [1]}
    even, odd = both
    assert (even, odd) == (both.even, both["odd"]) == (both[None], both.odd) == ([2], [1, 3])
    with pytest.raises(AttributeError):
        both.od  # noqa: B018
    with pytest.raises(hr.PipelineError, match=r"'od'\n.*use one of \['even', 'odd'\]"):
        both["od"]
    thirds = range(5) | hr.Partition(lambda n, parts: n % parts, 3)
    assert list(thirds) == [[0, 3], [1, 4], [2]]
    assert (len(thirds), thirds[1]) == (3, [1, 4])

    @hr.ptransform_fn
    def twice_and_thrice(numbers):
        return numbers | hr.Map(doubled), {"3": numbers | "3" >> hr.Map(lambda n: 3 * n)}

    assert [1] | twice_and_thrice() == ([2], {"3": [3]})


def test_flags_of_the_command_line_have_no_effect(monkeypatch):
    monkeypatch.setattr("sys.argv", ["program", "--runner=spark", "--nonsense"])
    assert [1] | hr.Map(doubled) == [2]


def test_the_result_has_no_retracted_elements():
    early = hr.WindowInto(
        hr.window.GlobalWindows(),
        trigger=hr.trigger.Repeatedly(hr.trigger.AfterCount(1)),
        accumulation_mode=hr.AccumulationMode.RETRACTING,
    )
    assert [("a", 1), ("a", 2)] | (early | hr.CombinePerKey(sum)) == [("a", 3)]


def test_collections_on_the_left_are_applied_as_before():
    p = hr.Pipeline("local", argv=[])
    one = p | "one" >> hr.Create([1])
    other = p | "other" >> hr.Create([2])
    for several in ([one, other], (one, other), iter([one, other])):
        assert isinstance(several | p_label(several) >> hr.Flatten(), hr.PCollection)
    p.run()


def p_label(several):
    return f"flatten {type(several).__name__}"


@pytest.mark.parametrize(
    ("left", "problem"),
    [
        ((1, 2), "is a tuple, which stands for several collections, but 1 is not"),
        ({"a": 1}, "is a dict, which stands for several collections, but 1 is not"),
        ("abc", "'abc' is neither a collection nor an iterable of elements"),
        (3, "3 contains no collection of a pipeline"),
        ((), "contains no collection of a pipeline"),
    ],
)
def test_other_values_are_refused(left, problem):
    with pytest.raises(hr.PipelineError, match=problem) as refusal:
        _ = left | "here" >> hr.Map(doubled)
    assert refusal.value.where == "here"
