"""Linear Road: tolls that depend on traffic and accidents, on a small generated expressway.

Arasu et al.: Linear Road, a stream data management benchmark (2004). ``records`` makes the input, ``rules``
has the parameters, ``vehicles``, ``segments`` and ``accounts`` are the steps, each in the event-time order of
its key, and ``plain`` computes the answers in plain Python.
"""
