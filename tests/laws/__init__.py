"""The laws: what must hold for all streams, windows, triggers, modes and groupings in a row.

``make laws N=…`` tries each on so many cases, and keeps the smallest that breaks one in ``found``; all that
is there is tried again by ``test_corpus``.
"""
