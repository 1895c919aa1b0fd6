"""Size: 100,000,000 bids through queries 5 and 7 of Nexmark, and sessions of 10,000,000 keys, on Spark.

``bids`` and ``visits`` are sources that the workers read, ``queries`` are the pipelines, ``job`` runs one of
them in a process of its own, and the command samples what its processes use.
"""

import benchmarks.nexmark  # noqa: F401  # its queries are examples, whose directory it adds to the path
