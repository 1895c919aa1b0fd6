"""The Yahoo streaming benchmark: views of advertisements per campaign and ten seconds, from Kafka into Redis.

- :mod:`events`: the events, each with the time at which it is sent, and the counts of plain Python.
- :mod:`sender`: a process that sends them to Kafka at their times.
- :mod:`stored_counts`: the counts in Redis, with the times of their last updates.
- :mod:`in_headrace`, :mod:`in_structured_streaming`: the program on each system.
- :mod:`measuring`: one run at a rate: answers, latencies, and whether the rate was sustained.
- :mod:`report`: the section of the page, with its pictures.

Run it with ``python -m benchmarks.yahoo`` from a checkout.
"""
