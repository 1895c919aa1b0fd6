"""Collections and other inputs and outputs of transforms, under Beam's name for the module."""

from headrace.sdk.pvalue import DoOutputsTuple, PBegin, PCollection, PDone, PValue, TaggedOutput
from headrace.sdk.row import Row

__all__ = ["DoOutputsTuple", "PBegin", "PCollection", "PDone", "PValue", "Row", "TaggedOutput"]
