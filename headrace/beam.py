# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Headrace for programs of apache_beam: the judge of Beam runners."""

from headrace.sdk.beam.judge.check_runner import check_runner
from headrace.sdk.beam.judge.judge_report import BeamReport, BeamVerdict

__all__ = ["BeamReport", "BeamVerdict", "check_runner"]
