# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Elements at regular times, under Beam's path."""

from headrace.sdk.polling.periodic import PeriodicImpulse, PeriodicSequence, RebaseMode
from headrace.sdk.polling.periodic_dofn import (
    ImpulseSeqGenDoFn,
    ImpulseSeqGenRestrictionProvider,
    sequence_backlog_bytes as _sequence_backlog_bytes,
)

__all__ = [
    "ImpulseSeqGenDoFn",
    "ImpulseSeqGenRestrictionProvider",
    "PeriodicImpulse",
    "PeriodicSequence",
    "RebaseMode",
    "_sequence_backlog_bytes",
]
