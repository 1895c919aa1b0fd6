"""Beam's classes of options: their flags parse; a few have an effect; a run warns about the others."""

import pytest

import headrace as hr
from headrace.options import pipeline_options as module
from headrace.options.pipeline_options import (
    CrossLanguageOptions,
    DebugOptions,
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
    SetupOptions,
    StandardOptions,
    TypeOptions,
    WorkerOptions,
)
from headrace.runners.spark.cluster.options import spark_settings
from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.options.pipeline_options import known_flags
from headrace.sdk.pipelines.beam_options import BEAM_CLASSES


def test_every_flag_of_beam_is_known() -> None:
    beam = pytest.importorskip("apache_beam.options.pipeline_options")
    parser = beam._BeamArgumentParser(add_help=False)
    for cls in beam.PipelineOptions.__subclasses__():
        if cls.__module__ == beam.__name__:
            cls._add_argparse_args(parser)
            assert hasattr(module, cls.__name__)
    theirs = {flag.strip("-").replace("-", "_") for flag in parser._option_string_actions}
    assert theirs - known_flags() == set()


def test_flags_of_workers_and_of_google() -> None:
    options = PipelineOptions(
        ["--worker_machine_type=a", "--num_workers=3", "--no_use_public_ips", "--label=a=b"]
    )
    workers = options.view_as(WorkerOptions)
    assert (workers.machine_type, workers.num_workers, workers.use_public_ips) == ("a", 3, False)
    google = options.view_as(GoogleCloudOptions)
    assert (google.labels, google.project, google.update) == (["a=b"], None, False)
    google.project = "mill"
    assert options.view_as(GoogleCloudOptions).project == "mill"


def test_flags_with_several_values_in_one() -> None:
    flags = ["--experiments=a,b = 1", "--experiment=keys=k=1,l=2", "--experiments=,c,"]
    debug = DebugOptions(flags)
    assert debug.experiments == ["a", "b = 1", "keys=k=1,l=2", "c"]
    debug.add_experiment("c")
    debug.add_experiment("d")
    assert debug.experiments is not None
    assert debug.experiments[-2:] == ["c", "d"]
    assert [debug.lookup_experiment(key, 0) for key in ("a", "keys", "x")] == [True, "k=1,l=2", 0]
    assert DebugOptions([]).lookup_experiment("a") is None


def test_flags_with_json() -> None:
    google = GoogleCloudOptions(
        ['--gcs_custom_audit_entries={"job": "a"}', "--gcs_custom_audit_entry=id=b=c"]
    )
    prefix = "x-goog-custom-audit-"
    assert google.gcs_custom_audit_entries == {f"{prefix}job": "a", f"{prefix}id": "b=c"}


def test_services_from_the_environment(monkeypatch) -> None:
    assert CrossLanguageOptions([]).beam_services == {}
    monkeypatch.setenv("BEAM_SERVICE_OVERRIDES", '{"a": "1", "b": "2"}')
    assert CrossLanguageOptions(['--beam_services={"b": "3"}']).beam_services == {
        "a": "1",
        "b": "3",
    }


def test_environment_options() -> None:
    portable = PortableOptions([])
    portable.add_environment_option("image=a")
    assert portable.lookup_environment_option("image") == "a"


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (SetupOptions, "save_main_session"),
        (WorkerOptions, "use_public_ips"),
        (TypeOptions, "pipeline_type_check"),
        (StandardOptions, "check_mutation"),
        (StandardOptions, "streaming"),
    ],
)
def test_truth_values_survive_a_dictionary(cls, name, value) -> None:
    options = PipelineOptions([], **{name: value}).get_all_options()
    assert getattr(PipelineOptions.from_dictionary(options).view_as(cls), name) is value


def test_defaults_and_known_values_survive_a_dictionary() -> None:
    def shown(options):
        return {name: str(value) for name, value in options.get_all_options().items()}

    for flags in ([], ["--turns=4"]):
        options = PipelineOptions(flags)
        assert shown(PipelineOptions.from_dictionary(options.get_all_options())) == shown(options)


def test_a_class_that_cannot_be_used_does_not_disturb_others() -> None:
    class Broken(PipelineOptions):
        @classmethod
        def _add_argparse_args(cls, parser):
            if cls.broken:
                raise LookupError

        broken = True

    assert PipelineOptions.from_dictionary({"streaming": True}).view_as(StandardOptions).streaming
    Broken.broken = False  # the class remains


def test_versions_of_beam() -> None:
    options = PipelineOptions(update_compatibility_version="2.9")
    assert options.is_compat_version_prior_to("2.10.1")
    assert not options.is_compat_version_prior_to("2.9.0")
    assert not PipelineOptions([]).is_compat_version_prior_to("2.9.0")


def test_unknown_flags_are_logged_on_request(caplog) -> None:
    PipelineOptions(["--num_worker=3"]).get_all_options(display_warnings=True)
    assert "no flag --num_worker; did you mean --num_workers?" in caplog.text


def test_all_classes_are_in_beams_module() -> None:
    assert {cls.__name__ for cls in BEAM_CLASSES} < set(module.__all__)


class Noted(RunObserver):
    job = ""

    def start(self, run):
        self.job = run.job


def test_the_job_name_names_the_run() -> None:
    noted = Noted()
    with hr.Pipeline(options=PipelineOptions(["--job_name=mill"]), observers=[noted]) as p:
        p | hr.Create([1])
    assert noted.job == "mill"
    assert spark_settings(PipelineOptions(["--job_name=mill"])).job_name == "mill"


def test_beams_flag_for_the_master() -> None:
    assert spark_settings(PipelineOptions(["--spark_master_url=local[3]"])).master == "local[3]"
    both = PipelineOptions(["--spark_master_url=local[3]", "--spark-master=local[1]"])
    assert spark_settings(both).master == "local[1]"
