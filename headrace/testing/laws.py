# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Laws for transforms, CombineFns, window functions, triggers, coders, sources and runners.

Needs ``pip install 'headrace[testing]'``. Each function checks random cases, always the same ones, and raises
:class:`LawBroken` with the smallest case that breaks a law.
"""

from headrace.sdk.testing.conformance.check_runner import check_runner
from headrace.sdk.testing.conformance.report import Report, Verdict
from headrace.sdk.testing.laws.coder_laws import check_coder
from headrace.sdk.testing.laws.combine_laws import check_combine_fn
from headrace.sdk.testing.laws.law import LawBroken
from headrace.sdk.testing.laws.source_laws import check_source
from headrace.sdk.testing.laws.transform_laws import (
    check_deterministic,
    check_order_independence,
    check_streaming_equals_batch,
)
from headrace.sdk.testing.laws.trigger_laws import check_trigger
from headrace.sdk.testing.laws.window_laws import check_window_fn

__all__ = [
    "LawBroken",
    "Report",
    "Verdict",
    "check_coder",
    "check_combine_fn",
    "check_deterministic",
    "check_order_independence",
    "check_runner",
    "check_source",
    "check_streaming_equals_batch",
    "check_trigger",
    "check_window_fn",
]
