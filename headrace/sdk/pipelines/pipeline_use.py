"""Warns about pipelines that are built but never run."""

from __future__ import annotations

import os
import sys
import warnings
import weakref

import attrs

from headrace.errors import HeadraceWarning, caller


@attrs.define
class PipelineUse:
    """The use of a pipeline so far; it outlives the pipeline.

    Attributes:
        file: the file that creates the pipeline.
        line: the line that creates it.
        first: label of its first step; empty until it has one.
        expected: whether the pipeline should still be used.
        process: the process that created it; a fork must not warn.
    """

    file: str
    line: int
    first: str = ""
    expected: bool = True
    process: int = attrs.field(factory=os.getpid)

    @classmethod
    def watch(cls, pipeline: object) -> PipelineUse:
        """Return the use of a new pipeline; warn when the pipeline ends without use."""
        frame = caller()
        use = cls(frame.f_code.co_filename, frame.f_lineno)
        weakref.finalize(pipeline, use.end)
        return use

    def begin(self, label: str) -> None:
        """Note the first step of the pipeline."""
        self.first = self.first or label

    def dismiss(self) -> None:
        """Note that the pipeline was used, or cannot be, since building it failed."""
        self.expected = False

    def end(self) -> None:
        """Warn if the pipeline has steps and was not used."""
        if not (self.expected and self.first and self.process == os.getpid()):
            return
        if getattr(sys, "last_value", None) is not None and not hasattr(sys, "ps1"):
            return  # the program failed before it could run the pipeline
        warnings.warn_explicit(
            f"the pipeline that begins with {self.first!r} was built, but it never ran; "
            "build it within `with hr.Pipeline() as p:`, or call p.run()",
            HeadraceWarning,
            self.file,
            self.line,
        )
