"""Coders, under Beam's path."""

from headrace.coders import *  # noqa: F403
from headrace.coders import __all__ as __all__
