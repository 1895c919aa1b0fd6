"""Refuses the names of Beam's module for watermark estimators of splittable DoFns."""

from headrace.sdk.beam_names import missing_names_of as _missing_names_of

__all__: list[str] = []

__getattr__ = _missing_names_of(__name__)
