"""Nexmark: queries over the persons, auctions and bids of an auction house.

`python -m examples.nexmark` runs them.

events      persons, auctions and bids
generator   makes them, by a seed and a number, with delays; a source that replays them in order of arrival
windowing   the windows of the queries, and how they correct their results
simple      queries 0, 1, 2 and 13: one event at a time, and a side input
joins       queries 3 and 8: persons joined with their auctions, by state and by window
winners     queries 4, 6 and 9: the winning bids of closed auctions, and averages over them
counts      queries 5, 7, 11 and 12: bids in sliding, fixed, session and processing-time windows
logs        query 10: events in log files by window and shard
job         builds the queries, runs them and reads what they wrote
"""
