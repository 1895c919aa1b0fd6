"""RIoTBench: the ETL and STATS applications over readings of sensors.

Shukla, Chaturvedi and Simmhan: RIoTBench, a real-time IoT benchmark for distributed stream processing
platforms (2017). ``messages`` makes the input, ``etl`` and ``stats`` are the applications, and ``plain``
computes their answers in plain Python.
"""
