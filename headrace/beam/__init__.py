"""Programs of ``apache_beam`` on Headrace: the runner that a program names (needs ``headrace[beam]``)."""

from headrace.sdk.beam.programs.runner import HeadraceRunner

__all__ = ["HeadraceRunner"]
