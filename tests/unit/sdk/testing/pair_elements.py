"""Elements for streams: pairs of one of two keys and a small number."""

from __future__ import annotations

from hypothesis import strategies as st

PAIRS = st.tuples(st.sampled_from("ab"), st.integers(0, 9))
