"""Nexmark: queries over the persons, auctions and bids of an auction house.

`python -m examples.nexmark` runs them.

events      persons, auctions and bids
draws       random numbers that depend on a seed only
generator   makes them, by a seed and a number, with delays; a source that replays them in order of arrival
windowing   the windows of the queries, and how they correct their results
simple      queries 0, 1, 2, 13, 14, 21 and 22: one event at a time, and a side input
joins       queries 3, 8 and 20: persons joined with their auctions, and auctions with their bids
winners     queries 4, 6 and 9: the winning bids of closed auctions, and averages over them
counts      queries 5, 7, 11 and 12: bids in sliding, fixed, session and processing-time windows
reports     queries 15, 16 and 17: statistics of bids by day, channel and auction, with distinct counts
rankings    queries 18 and 19: the last bids of bidders, and the ten best bids of auctions
logs        query 10: events in log files by window and shard
columns     some of the queries once more, with expressions on whole columns of bids
job         builds the queries, runs them and reads what they wrote
"""
