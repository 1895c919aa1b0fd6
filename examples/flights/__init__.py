"""The modules of the flights example; `flights.py`, next to this directory, builds the pipeline from them.

records      reads the file into tuples; a source that replays them in order of completion
answers      the aggregations: delays per hour, totals per day, working days
results      sinks that compute final results: the panes without those retracted
batch        the same answers in plain Python, from the whole file
comparison   compares both, row by row
report       prints and writes the results
"""
