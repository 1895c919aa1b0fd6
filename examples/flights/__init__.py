"""The parts of the flights example; `flights.py` beside this directory puts them together.

records      the file, read into small tuples; the source that replays them as they became known
answers      what is computed: the delays of an hour, the totals of a day, working days
results      what a reader of the results holds in the end: the panes less their retractions
batch        the same answers by plain Python over the whole file
comparison   both beside each other, row by row
report       everything that is printed or written
"""
