"""Warnings, when a pipeline runs, about flags that have no effect: misspelled, or for another runner."""

from __future__ import annotations

import logging
from difflib import get_close_matches
from typing import Final

from headrace.errors import warn
from headrace.sdk.options import PipelineOptions, given_flags, known_flags

SPARK_FLAGS: Final = frozenset(
    (
        "batch_retries",
        "checkpoint",
        "key_groups",
        "py_files",
        "side_input_bytes",
        "spark_conf",
        "spark_log_level",
        "spark_master",
        "temp_location",
        "trigger_interval",
    )
)
"""The flags that only the Spark runner uses."""

_BEAM_FLAGS_OF_SPARK: Final = frozenset(("temp_location",))
"""Those of them that Beam's other runners have, too."""

BEAM_FLAGS: Final = frozenset(
    """
    allow_non_deterministic_key_coders application_id artifact_endpoint artifact_port artifacts_dir
    auto_unique_labels autoscaling_algorithm azure_connection_string azure_managed_identity_client_id
    beam_plugin beam_plugins beam_services blob_service_endpoint bootstrap_servers
    cloud_build_machine_type create_from_snapshot dataflow_endpoint dataflow_job_file dataflow_kms_key
    dataflow_service_option dataflow_service_options default_sdk_harness_log_level
    direct_embed_docker_python direct_num_workers direct_runner_bundle_repeat direct_running_mode
    direct_test_splits disable_beartype disk_provisioned_iops disk_provisioned_throughput_mibps
    disk_size_gb disk_type docker_registry_push_url dry_run element_processing_timeout_minutes
    enable_artifact_caching enable_bucket_read_metric_counter enable_bucket_write_metric_counter
    enable_gcsio_blob_generation enable_hot_key_logging enable_streaming_engine environment_cache_millis
    environment_config environment_option environment_options environment_type
    exclude_infer_dataclass_field_type expansion_port experiment experiments extra_package
    extra_packages file_to_stage files_to_stage flexrs_goal flink_job_server_jar flink_master
    flink_submit_uber_jar flink_version force_cloudpickle_deterministic_coders gbek gcp_oauth_scope
    gcp_oauth_scopes gcs_custom_audit_entries gcs_custom_audit_entry hdfs_full_urls hdfs_host hdfs_port
    hdfs_user impersonate_service_account jar_cache_dir job_endpoint job_name job_port
    job_server_java_launcher job_server_jvm_properties job_server_jvm_property job_server_timeout
    kafka_streams_job_server_jar label labels machine_type maven_repository_url
    max_cache_memory_usage_mb max_num_workers max_parallelism min_cpu_platform network no_auth
    no_direct_runner_use_stacked_bundle no_gcsio_throttling_counter no_pipeline_type_check
    no_save_main_session no_use_public_ips no_wait_until_finish num_workers
    number_of_worker_harness_threads on_success_matcher output_executable_path parallelism
    performance_runtime_type_check pickle_library prebuild_sdk_container_base_image
    prebuild_sdk_container_engine prism_beam_version_override prism_location prism_log_kind
    prism_log_level profile_cpu profile_location profile_memory profile_postprocess_interval_sec
    profile_sample_rate profile_temp_location profile_upload_interval_sec profiler_agent
    profiler_extra_arg profiler_extra_args profiler_extra_env_var profiler_extra_env_vars
    profiler_stop_after_crash profiler_stop_after_sec project pubsub_root_url region requirements_cache
    requirements_cache_only_sources requirements_file resource_hint resource_hints runtime_type_check
    s3_access_key_id s3_api_version s3_disable_ssl s3_endpoint_url s3_region_name s3_secret_access_key
    s3_session_token s3_verify sdk_container_image sdk_harness_container_image_overrides
    sdk_harness_log_level_overrides sdk_location sdk_worker_parallelism service_account_email setup_file
    spark_job_server_jar spark_master_url spark_rest_url spark_submit_uber_jar spark_version
    staging_location subnetwork template_location transform_name_mapping
    type_check_additional type_check_strictness update update_compatibility_version use_public_ips
    use_transform_service user_agent wait_until_finish_duration worker_disk_type
    worker_harness_container_image worker_machine_type worker_region worker_zone zone
    """.split()  # noqa: SIM905  # a list of one name per line would be long
)
"""Flags of Beam's options and runners, which have no effect here and are accepted."""

_LIKELY: Final = 0.8
"""Similarity above which an unknown flag of the command line is taken for a misspelled one."""

_POSSIBLE: Final = 0.7
"""Similarity above which another unknown flag is."""


def warn_of_flags(options: PipelineOptions, local: bool) -> None:
    """Warn about each flag without an effect.

    The flags of the command line can also be those of the program or of pytest. So if the options come from
    there, only flags that look misspelled are reported.

    Args:
        options: the options of the run.
        local: whether it runs on the local runner.
    """
    given = given_flags(options)
    if not given.names:
        return
    known = known_flags() | SPARK_FLAGS
    for name in dict.fromkeys(given.names):
        if local and name in _BEAM_FLAGS_OF_SPARK:
            _log_no_effect(name)
        elif local and name in SPARK_FLAGS:
            warn(
                f"the flag {_flag(name)} has no effect on the local runner",
                remedy="use --runner=spark, or remove the flag",
            )
        elif name not in known:
            _warn_of_unknown(name, known, given.from_command_line)


def _warn_of_unknown(name: str, known: frozenset[str], from_command_line: bool) -> None:
    if name in BEAM_FLAGS:
        _log_no_effect(name)
        return
    near = get_close_matches(name, known, n=1, cutoff=_LIKELY if from_command_line else _POSSIBLE)
    if near:
        remedy = f"did you mean {_flag(near[0])}?"
    elif from_command_line:
        return
    else:
        remedy = "remove it, or define it in a subclass of PipelineOptions"
    warn(f"there is no flag {_flag(name)}, so it has no effect", remedy=remedy)


def _log_no_effect(name: str) -> None:
    logging.getLogger("headrace").info("the flag %s of Beam's has no effect here", _flag(name))


def _flag(name: str) -> str:
    return f"--{name}"
