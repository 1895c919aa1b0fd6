"""Beam's classes of options for other runners and services, so that programs can set and read them.

Their flags have no effect here, except for a few (see :data:`EFFECTIVE`); a run warns about those that are
given. They have no default values of their own, because nothing here uses them.
"""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from functools import cache
from typing import Any, Final

from headrace.sdk.options.option_parser import CommaSeparated, Merged
from headrace.sdk.options.pipeline_options import PipelineOptions, flags_of_class

EFFECTIVE: Final = frozenset(("job_name", "save_main_session", "spark_master_url", "temp_location"))
"""Those of the flags that have an effect, or whose purpose is served without them."""


class GoogleCloudOptions(PipelineOptions):
    """Flags for Google services, which Headrace does not use; ``--job_name`` and ``--temp_location`` work.

    >>> GoogleCloudOptions(["--project=mill", "--label=a=b"]).labels
    ['a=b']
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument("--job_name", help="as in StandardOptions")
        parser.add_argument("--temp_location", help="as on the Spark runner")
        _texts(parser, "dataflow_endpoint project staging_location region service_account_email")
        _texts(parser, "template_location dataflow_kms_key create_from_snapshot")
        _texts(parser, "flexrs_goal impersonate_service_account")
        _switches(parser, "no_auth update enable_streaming_engine enable_hot_key_logging")
        _switches(parser, "enable_artifact_caching enable_bucket_read_metric_counter")
        _switches(parser, "enable_bucket_write_metric_counter no_gcsio_throttling_counter")
        _switches(parser, "enable_gcsio_blob_generation")
        _lists(parser, "label gcp_oauth_scope")
        _comma_separated(parser, "dataflow_service_option")
        parser.add_argument("--transform_name_mapping", type=json.loads, help=_NO_EFFECT)
        parser.add_argument(
            "--gcs_custom_audit_entry",
            "--gcs_custom_audit_entries",
            dest="gcs_custom_audit_entries",
            action=Merged,
            type=_audit_entries,
            help=_NO_EFFECT,
        )


class WorkerOptions(PipelineOptions):
    """Flags for the workers of Dataflow; a Spark cluster is configured with ``--spark_conf``.

    >>> WorkerOptions(["--num_workers=5", "--worker_machine_type=n1"]).machine_type
    'n1'
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _numbers(parser, "num_workers max_num_workers disk_size_gb disk_provisioned_iops")
        _numbers(parser, "disk_provisioned_throughput_mibps element_processing_timeout_minutes")
        _numbers(parser, "max_cache_memory_usage_mb", default=0)
        _texts(parser, "autoscaling_algorithm worker_region worker_zone zone network subnetwork")
        _texts(parser, "worker_harness_container_image sdk_container_image min_cpu_platform")
        _texts(parser, "default_sdk_harness_log_level")
        for name in ("machine_type", "disk_type"):
            parser.add_argument(f"--worker_{name}", f"--{name}", dest=name, help=_NO_EFFECT)
        parser.add_argument(
            "--sdk_harness_container_image_overrides", action="append", help=_NO_EFFECT
        )
        parser.add_argument(
            "--sdk_harness_log_level_overrides", action=Merged, type=json.loads, help=_NO_EFFECT
        )
        _yes_or_no(parser, "use_public_ips")


class DebugOptions(PipelineOptions):
    """Flags for Beam experiments and for debugging.

    >>> options = DebugOptions(["--experiments=a,level=3"])
    >>> options.add_experiment("b")
    >>> options.experiments, options.lookup_experiment("level")
    (['a', 'level=3', 'b'], '3')
    """

    experiments: list[str] | None

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _comma_separated(parser, "experiment")
        _texts(parser, "dataflow_job_file")
        _numbers(parser, "number_of_worker_harness_threads")

    def add_experiment(self, experiment: str) -> None:
        """Add an experiment that is not there yet."""
        self.experiments = _with_item(self.experiments, experiment)

    def lookup_experiment(self, key: str, default: object = None) -> Any:
        """Return the value of an experiment ``key=value``; True for ``key``; else the default value."""
        return _value_of(self.experiments, key, default)


class ProfilingOptions(PipelineOptions):
    """Flags for profiles of Beam's workers; ``--report`` and ``--serve`` show where a run spends its time.

    >>> ProfilingOptions(["--profile_cpu"]).profile_cpu
    True
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _switches(parser, "profile_cpu profile_memory profiler_stop_after_crash")
        _texts(parser, "profile_location profiler_agent profile_temp_location")
        parser.add_argument("--profile_sample_rate", type=float, default=1.0, help=_NO_EFFECT)
        _comma_separated(parser, "profiler_extra_arg profiler_extra_env_var")
        _numbers(parser, "profile_upload_interval_sec profile_postprocess_interval_sec")
        _numbers(parser, "profiler_stop_after_sec", default=0)


class SetupOptions(PipelineOptions):
    """Flags for what Beam installs on workers; use ``--py_files`` or ``headrace package`` on Spark.

    ``--save_main_session`` is not needed: functions are always sent with everything that they refer to.

    >>> SetupOptions(["--save_main_session"]).save_main_session
    True
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _texts(
            parser, "requirements_file requirements_cache setup_file sdk_location gbek user_agent"
        )
        _texts(parser, "prebuild_sdk_container_engine prebuild_sdk_container_base_image")
        _texts(parser, "cloud_build_machine_type docker_registry_push_url maven_repository_url")
        _texts(parser, "pickle_library")
        _switches(parser, "requirements_cache_only_sources")
        _lists(parser, "beam_plugin extra_package")
        parser.add_argument(
            "--file_to_stage",
            "--files_to_stage",
            dest="files_to_stage",
            action="append",
            help=_NO_EFFECT,
        )
        _yes_or_no(parser, "save_main_session")


class PortableOptions(PipelineOptions):
    """Flags for Beam's portable runners.

    >>> options = PortableOptions(["--environment_option=command=run"])
    >>> options.lookup_environment_option("command")
    'run'
    """

    environment_options: list[str] | None

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _texts(parser, "job_endpoint artifact_endpoint environment_type environment_config")
        _texts(parser, "sdk_worker_parallelism environment_cache_millis output_executable_path")
        _numbers(parser, "job_server_timeout")
        _lists(parser, "environment_option")

    def add_environment_option(self, option: str) -> None:
        """Add an option of the environment that is not there yet."""
        self.environment_options = _with_item(self.environment_options, option)

    def lookup_environment_option(self, key: str, default: object = None) -> Any:
        """Return the value of an option ``key=value``; True for ``key``; else the default value."""
        return _value_of(self.environment_options, key, default)


class JobServerOptions(PipelineOptions):
    """Flags for the job servers of Beam's portable runners."""

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _texts(parser, "artifacts_dir job_server_java_launcher jar_cache_dir")
        _numbers(parser, "job_port artifact_port expansion_port", default=0)
        parser.add_argument(
            "--job_server_jvm_properties",
            "--job_server_jvm_property",
            dest="job_server_jvm_properties",
            action="append",
            help=_NO_EFFECT,
        )


class DirectOptions(PipelineOptions):
    """Flags for Beam's runner in memory; the local runner has one process and no such flags."""

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _numbers(parser, "direct_runner_bundle_repeat", default=0)
        _numbers(parser, "direct_num_workers", default=1)
        _switches(parser, "direct_embed_docker_python")
        parser.add_argument(
            "--direct_running_mode",
            default="in_memory",
            choices=["in_memory", "multi_threading", "multi_processing"],
            help=_NO_EFFECT,
        )
        parser.add_argument("--direct_test_splits", type=json.loads, default={}, help=_NO_EFFECT)
        parser.add_argument(
            "--no_direct_runner_use_stacked_bundle",
            dest="direct_runner_use_stacked_bundle",
            action="store_false",
            help=_NO_EFFECT,
        )


class SparkRunnerOptions(PipelineOptions):
    """Flags for Beam's runner on Spark; ``--spark_master_url`` works as ``--spark_master`` does.

    >>> SparkRunnerOptions(["--spark_master_url=local[2]"]).spark_master_url
    'local[2]'
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument("--spark_master_url", help="the same as --spark_master")
        _texts(parser, "spark_job_server_jar spark_rest_url spark_version")
        _switches(parser, "spark_submit_uber_jar")


class FlinkRunnerOptions(PipelineOptions):
    """Flags for Beam's runner on Flink, which Headrace does not have."""

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _texts(parser, "flink_master flink_version flink_job_server_jar")
        _numbers(parser, "parallelism max_parallelism", default=-1)
        _switches(parser, "flink_submit_uber_jar")


class PrismRunnerOptions(PipelineOptions):
    """Flags for Beam's Prism runner, which Headrace does not have."""

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _texts(parser, "prism_location prism_beam_version_override prism_log_level prism_log_kind")


class KafkaStreamsRunnerOptions(PipelineOptions):
    """Flags for Beam's runner on Kafka Streams, which Headrace does not have."""

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _texts(parser, "bootstrap_servers application_id kafka_streams_job_server_jar")


class StreamingOptions(PipelineOptions):
    """The version of Beam whose behavior a program expects; Headrace does not change with it.

    >>> StreamingOptions([]).is_compat_version_prior_to("2.70.0")
    False
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument("--update_compatibility_version", nargs="?", help=_NO_EFFECT)


class CrossLanguageOptions(PipelineOptions):
    """Flags for transforms in other languages, which Headrace does not have."""

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument("--beam_services", type=_with_overrides, default="{}", help=_NO_EFFECT)
        _switches(parser, "use_transform_service")


class AzureOptions(PipelineOptions):
    """Flags for Azure; fsspec's file systems have their own settings."""

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _texts(parser, "azure_connection_string blob_service_endpoint")
        _texts(parser, "azure_managed_identity_client_id")


class HadoopFileSystemOptions(PipelineOptions):
    """Flags for HDFS; fsspec's file systems have their own settings."""

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _texts(parser, "hdfs_host hdfs_port hdfs_user")
        _switches(parser, "hdfs_full_urls")


class S3Options(PipelineOptions):
    """Flags for S3; fsspec's file systems have their own settings."""

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _texts(parser, "s3_access_key_id s3_secret_access_key s3_session_token s3_endpoint_url")
        _texts(parser, "s3_region_name s3_api_version s3_verify")
        _switches(parser, "s3_disable_ssl")


class TestOptions(PipelineOptions):
    """Flags for Beam's integration tests."""

    __test__ = False  # pytest must not collect it

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        _texts(parser, "on_success_matcher")
        _numbers(parser, "wait_until_finish_duration")
        parser.add_argument("--dry_run", default=False, help=_NO_EFFECT)


class TestDataflowOptions(PipelineOptions):
    """A flag for Beam's tests of Dataflow."""

    __test__ = False  # pytest must not collect it

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument("--pubsub_root_url", dest="pubsubRootUrl", help=_NO_EFFECT)


BEAM_CLASSES: Final = (
    GoogleCloudOptions,
    WorkerOptions,
    DebugOptions,
    ProfilingOptions,
    SetupOptions,
    PortableOptions,
    JobServerOptions,
    DirectOptions,
    SparkRunnerOptions,
    FlinkRunnerOptions,
    PrismRunnerOptions,
    KafkaStreamsRunnerOptions,
    StreamingOptions,
    CrossLanguageOptions,
    AzureOptions,
    HadoopFileSystemOptions,
    S3Options,
    TestOptions,
    TestDataflowOptions,
)
"""All these classes."""


@cache
def flags_without_effect() -> frozenset[str]:
    """Return the names of their flags that have no effect.

    >>> "project" in flags_without_effect(), "job_name" in flags_without_effect()
    (True, False)
    """
    return frozenset(name for cls in BEAM_CLASSES for name in flags_of_class(cls)) - EFFECTIVE


_NO_EFFECT: Final = "accepted; has no effect"

_AUDIT: Final = "x-goog-custom-audit-"


def _texts(parser: ArgumentParser, names: str) -> None:
    for name in names.split():
        parser.add_argument(f"--{name}", help=_NO_EFFECT)


def _numbers(parser: ArgumentParser, names: str, default: int | None = None) -> None:
    for name in names.split():
        parser.add_argument(f"--{name}", type=int, default=default, help=_NO_EFFECT)


def _switches(parser: ArgumentParser, names: str) -> None:
    for name in names.split():
        parser.add_argument(f"--{name}", action="store_true", help=_NO_EFFECT)


def _yes_or_no(parser: ArgumentParser, name: str) -> None:
    parser.add_argument(f"--{name}", action="store_true", default=None, help=_NO_EFFECT)
    parser.add_argument(
        f"--no_{name}", dest=name, action="store_false", default=None, help=_NO_EFFECT
    )


def _lists(parser: ArgumentParser, names: str, action: Any = "append") -> None:
    """Add repeatable flags, in singular and plural."""
    for name in names.split():
        many = f"{name}s"
        parser.add_argument(f"--{name}", f"--{many}", dest=many, action=action, help=_NO_EFFECT)


def _comma_separated(parser: ArgumentParser, names: str) -> None:
    _lists(parser, names, CommaSeparated)


def _with_overrides(text: str) -> dict[str, Any]:
    """Return the services of a JSON object, and those that the environment has for Beam's programs."""
    return {**json.loads(os.environ.get("BEAM_SERVICE_OVERRIDES") or "{}"), **json.loads(text)}


def _audit_entries(text: str) -> dict[str, str]:
    """Return the entries of ``key=value``, or of a JSON object, with Google's prefix in their names."""
    key, _, value = text.partition("=")
    entries = json.loads(text) if text.startswith("{") else {key: value}
    return {name if name.startswith(_AUDIT) else _AUDIT + name: v for name, v in entries.items()}


def _with_item(items: list[str] | None, item: str) -> list[str]:
    known = items or []
    return known if item in known else [*known, item]


def _value_of(items: list[str] | None, key: str, default: object) -> object:
    if key in (items or ()):
        return True
    found = (item.partition("=")[2] for item in items or () if item.startswith(f"{key}="))
    return next(found, default)
