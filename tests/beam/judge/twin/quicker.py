"""Makes the construction of pipelines of `apache_beam` quicker: what it computes again and again is kept.

A program of the twin is small, so most of its time is the construction: Beam parses its options a hundred
times for each pipeline, and inspects the signature of each method a dozen times.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from unittest import mock

from tests.beam.judge.twin.dofns import module


@contextmanager
def quick_construction() -> Iterator[None]:
    """Keep views of options and signatures of functions while pipelines are built."""
    options = module("beam", "options.pipeline_options").PipelineOptions
    core, decorators = module("beam", "transforms.core"), module("beam", "typehints.decorators")
    signature = lru_cache(2_000)(decorators.get_signature)
    views: dict[tuple[int, Any], Any] = {}
    plain = options.view_as

    def view_as(self: Any, cls: Any) -> Any:
        key = id(self._all_options), cls
        found = views.get(key)
        if found is None or found[0] is not self._all_options:
            found = views[key] = self._all_options, plain(self, cls)
        return found[1]

    with (
        mock.patch.object(options, "view_as", view_as),
        mock.patch.object(core, "get_signature", signature),
    ):
        yield
