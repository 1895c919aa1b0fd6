"""Nexmark: events per second and core of each query, on both runners and on Beam's local runner.

    python -m benchmarks.nexmark                                  # local, and Beam's local runner
    python -m benchmarks.nexmark --runner local spark --query 5 7 --events 200000
    python -m benchmarks.nexmark --source kafka --sink delta --query 1 17

The queries are those of ``examples/nexmark``, and Beam's are those of its wheel. No figure is printed before
the answers are compared with plain Python.

sources     memory, files and Kafka
sinks       none, Kafka and Delta; what they have received
digest      one number for all results of a query, which a run computes as it goes
runs        a run of a query, its time, and the check of its answer
by_beam     the queries of Beam's wheel, on any of Beam's runners
kept        what was measured, also by earlier commands
published   figures of others
section     the tables, the picture and the text of docs/reference/benchmarks.md
"""

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"

sys.path.insert(0, str(EXAMPLES))
