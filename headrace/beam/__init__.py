"""Programs of ``apache_beam`` on Headrace, and the judge of Beam runners (needs ``headrace[beam]``)."""

from headrace.sdk.beam.judge.check_runner import check_runner
from headrace.sdk.beam.judge.judge_report import BeamReport, BeamVerdict

__all__ = ["BeamReport", "BeamVerdict", "check_runner"]
