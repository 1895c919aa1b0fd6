"""Visits the objects of a program, and translates each of them into nodes.

What the table of :mod:`~headrace.sdk.beam.programs.applications` has is translated whole; of all else, the
parts are.
"""

from __future__ import annotations

from typing import Any

from apache_beam.pipeline import PipelineVisitor

from headrace.errors import HeadraceError, warn
from headrace.sdk.beam.programs.applications import Application, translator_of
from headrace.sdk.beam.programs.nodes import Graphs
from headrace.sdk.beam.programs.sources.external import refused
from headrace.sdk.pipelines.pipeline import Pipeline


class Translation(PipelineVisitor):
    """Translates the transforms that it visits.

    Args:
        pipeline: gets the nodes.
        drains: whether restrictions are cut to what must be done.
        streaming: whether the run is in streaming mode, in which nothing is run to its end.
    """

    def __init__(self, pipeline: Pipeline, drains: bool, streaming: bool) -> None:
        self._graphs = Graphs(pipeline)
        self._drains = drains
        self._streaming = streaming
        self._whole: Any = None
        self.hinted = ""
        """The label of a transform with resource hints; empty if none has any."""

    def enter_composite_transform(self, transform_node: Any) -> None:
        """Translate a composite whole, if the table has it."""
        if self._whole is None and self._translates(transform_node, leaf=False):
            self._whole = transform_node

    def leave_composite_transform(self, transform_node: Any) -> None:
        """Go on with what is next to a composite that was translated whole."""
        if self._whole is transform_node:
            self._whole = None

    def visit_transform(self, transform_node: Any) -> None:
        """Translate a transform without parts."""
        if transform_node.resource_hints:
            self.hinted = transform_node.full_label
        if self._whole is None and not self._translates(transform_node, leaf=True):
            raise refused(transform_node.transform, transform_node.full_label)

    def _translates(self, node: Any, leaf: bool) -> bool:
        """Translate an application, if the table has its transform."""
        if node.transform is None:  # the root
            return leaf
        translate = translator_of(node.transform, leaf)
        if translate is None:
            return False
        application = Application(node, self._graphs, self._drains, self._streaming)
        try:
            translate(application)
        except HeadraceError as error:
            error.where = error.where or node.full_label
            raise
        return True


def translate(beam_pipeline: Any, pipeline: Pipeline, drains: bool, streaming: bool) -> None:
    """Add the nodes of a program to a pipeline.

    Args:
        beam_pipeline: Beam's pipeline.
        pipeline: ours.
        drains: whether restrictions are cut to what must be done.
        streaming: whether the run is in streaming mode.

    Raises:
        UnsupportedError: the program has something that has no equivalent.
    """
    translation = Translation(pipeline, drains, streaming)
    beam_pipeline.visit(translation)
    if translation.hinted:
        warn("resource hints have no effect here", where=translation.hinted)
