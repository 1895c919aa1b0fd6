"""Groupings at work: the operators, and the table of keys with its two tiers.

A *light* tier holds contents without states of triggers: contents by window, with the early panes of windows
that fire after each number of elements, or sessions by key. A *full* tier holds the states of all other keys.
A light state is promoted when a late element needs more, and a full state compacts to a light one when it
needs no more.

==================================  ================================================================
module                              content
==================================  ================================================================
operators                           elements collected in a round, and grouped when it ends
table                               the table with two tiers, and what a light tier does
window_tier                         contents by window and key
session_tier, end_queue             sessions by key; their timer queue
keyed_table                         the full tier: keys with their states, for any keyed operator
output                              what tables give out
store                               where tables are kept between rounds
==================================  ================================================================
"""
