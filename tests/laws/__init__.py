"""The laws: properties of all streams, windows, triggers, modes and chains of groupings.

``make laws N=…`` tries N cases of each and keeps the smallest that breaks one in ``found``; ``test_corpus``
tries these cases again.
"""
