"""A pipeline collects transforms under labels, once, and runs once."""

import pytest

import headrace as hr
from headrace.options import PipelineOptions
from headrace.testing import Capture, TestPipeline, assert_that, equal_to


class Doubled(hr.PTransform):
    def expand(self, pcoll):
        return pcoll | "Times" >> hr.Map(lambda x: 2 * x)


def labels(pipeline):
    return [node.label for node in pipeline.graph]


def test_a_label_is_given_with_a_shift() -> None:
    p = hr.Pipeline()
    _ = p | "Numbers" >> hr.Create([1]) | "Show" >> hr.Map(print)
    assert labels(p) == ["Numbers", "Show"]


def test_without_a_label_the_transform_and_its_function_name_the_step() -> None:
    p = hr.Pipeline()
    words = p | hr.Create(["a b"])
    words | hr.FlatMap(str.split)
    words | hr.Map(lambda x: x)
    assert labels(p)[:2] == ["Create", "FlatMap(split)"]
    assert labels(p)[2].startswith("Map(<lambda at test_pipeline.py:")


def test_a_composite_names_its_parts() -> None:
    p = hr.Pipeline()
    doubled = p | hr.Create([1]) | "Twice" >> Doubled()
    assert labels(p) == ["Create", "Twice/Times"]
    assert repr(doubled) == "PCollection[Twice]"


def test_the_outermost_of_two_labels_counts() -> None:
    p = hr.Pipeline()
    p | "outer" >> ("inner" >> hr.Create([1]))
    assert labels(p) == ["outer"]


def test_a_chain_of_transforms_is_a_transform() -> None:
    with TestPipeline() as p:
        chained = hr.Map(lambda x: x + 1) | hr.Map(str)
        assert_that(p | hr.Create([1]) | chained, equal_to(["2"]))


def test_a_function_can_be_a_transform() -> None:
    @hr.ptransform_fn
    def Scaled(pcoll, factor, *, plus=0):
        return pcoll | hr.Map(lambda x: factor * x + plus)

    with TestPipeline() as p:
        assert_that(p | hr.Create([1, 2]) | Scaled(10, plus=1), equal_to([11, 21]))


def test_a_label_is_taken_only_once() -> None:
    p = hr.Pipeline()
    numbers = p | hr.Create([1])
    numbers | "Step" >> hr.Map(str)
    with pytest.raises(hr.PipelineError, match="label 'Step' is already in use") as refusal:
        numbers | "Step" >> hr.Map(str)
    assert ">>" in refusal.value.remedy


def test_the_same_label_is_free_in_another_composite() -> None:
    p = hr.Pipeline()
    numbers = p | hr.Create([1])
    numbers | "One" >> Doubled()
    numbers | "Other" >> Doubled()
    assert labels(p) == ["Create", "One/Times", "Other/Times"]


def test_what_fails_to_apply_leaves_no_trace() -> None:
    class Broken(hr.PTransform):
        def expand(self, pcoll):
            pcoll | hr.Map(str)
            raise RuntimeError("no")

    p = hr.Pipeline()
    numbers = p | hr.Create([1])
    with pytest.raises(RuntimeError, match="no"):
        numbers | Broken()
    assert labels(p) == ["Create"]
    numbers | "Broken" >> Doubled()


def test_a_refusal_names_the_transform() -> None:
    with pytest.raises(hr.PipelineError) as refusal:
        hr.Pipeline() | hr.Create([1]) | "Outer" >> hr.CombinePerKey(sum)  # type: ignore[operator]
    assert refusal.value.where == "Outer"


def test_a_pipeline_whose_run_fails_can_be_changed_and_run_again():
    p = hr.Pipeline(argv=[])
    seen: list[int] = []
    attempts: list[int] = []

    def flaky(n):
        attempts.append(n)
        return 1 // (len(attempts) - 1)

    numbers = p | hr.Create([1]) | hr.Map(flaky)
    with pytest.raises(ZeroDivisionError):
        p.run()
    _ = numbers | "Seen" >> hr.Map(seen.append)
    p.run()
    assert (seen, attempts) == ([1], [1, 1])
    with pytest.raises(hr.PipelineError, match="already run"):
        p.run()


def test_a_pipeline_runs_once() -> None:
    p = TestPipeline()
    p | hr.Create([1])
    p.run()
    with pytest.raises(hr.PipelineError, match="already run"):
        p.run()


def test_a_pipeline_that_ran_does_not_grow() -> None:
    with TestPipeline() as p:
        numbers = p | hr.Create([1])
    with pytest.raises(hr.PipelineError, match="already run"):
        numbers | hr.Map(str)


def test_collections_of_two_pipelines_do_not_mix() -> None:
    one = hr.Pipeline() | hr.Create([1])
    other = hr.Pipeline() | hr.Create([1])
    with pytest.raises(hr.PipelineError, match="another pipeline"):
        (one, other) | hr.Flatten()


@pytest.mark.parametrize("thing", [len, hr.DoFn(), 3, hr.Map])  # type: ignore[abstract]
def test_only_transforms_are_applied(thing) -> None:
    with pytest.raises(hr.PipelineError, match="is not a transform"):
        hr.Pipeline() | hr.Create([1]) | thing


def test_a_transform_of_elements_needs_a_collection() -> None:
    with pytest.raises(hr.PipelineError, match="not a collection"):
        hr.Pipeline() | hr.Map(str)  # type: ignore[operator]


def test_a_source_is_applied_to_the_pipeline() -> None:
    p = hr.Pipeline()
    with pytest.raises(hr.PipelineError, match="a source is applied to"):
        p | hr.Create([1]) | "again" >> hr.Create([2])  # type: ignore[operator]


def test_nothing_comes_after_the_end() -> None:
    p = hr.Pipeline()
    done = p | hr.Create([1]) | hr.Write(Capture())
    with pytest.raises(hr.PipelineError, match="end of a branch"):
        done | hr.Map(str)  # type: ignore[operator]


def test_a_transform_needs_a_pipeline_from_somewhere() -> None:
    with pytest.raises(hr.PipelineError, match="no collection"):
        () | hr.Map(str)


def test_a_collection_cannot_be_iterated_over() -> None:
    with pytest.raises(TypeError, match="only while the pipeline runs"):
        list(hr.Pipeline() | hr.Create([1]))


def test_a_block_that_fails_does_not_run() -> None:
    p = TestPipeline()

    def build():
        with p:
            p | hr.Create([1]) | hr.Map(print)
            raise LookupError

    with pytest.raises(LookupError):
        build()
    assert p.result is None


def test_the_runner_is_chosen_by_name() -> None:
    with pytest.raises(hr.UnsupportedError, match="no runner 'abacus'"):
        hr.Pipeline(runner="abacus").run()
    with pytest.raises(hr.UnsupportedError, match="no runner 'abacus'"):
        hr.Pipeline(options=PipelineOptions(["--runner=abacus"])).run()


@pytest.mark.parametrize("name", ["local", "Local", "DirectRunner"])
def test_the_local_runner_has_beams_name_too(name) -> None:
    assert hr.Pipeline(runner=name).run().state == "DONE"


def test_a_runner_is_anything_that_runs_a_graph() -> None:
    class Recorder:
        def run(self, graph, options):
            self.labels = [node.label for node in graph]
            return hr.Pipeline().run()

    runner = Recorder()
    with hr.Pipeline(runner=runner) as p:
        p | hr.Create([1])
    assert runner.labels == ["Create"]


def test_flags_of_the_command_line_reach_the_pipeline(monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["program", "--runner=abacus", "--mine=3"])
    with pytest.raises(hr.UnsupportedError, match="abacus"):
        hr.Pipeline().run()
    TestPipeline().run()
