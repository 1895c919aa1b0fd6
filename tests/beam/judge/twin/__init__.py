"""The random twin of whole programs: each is data, written once against Beam's names, and run in three ways.

- :mod:`language`: a program as data. :mod:`drawing`: the strategy that draws programs.
- :mod:`dofns`, :mod:`transforms`: a program as a pipeline, of `apache_beam` or of Headrace by the same code.
- :mod:`running`: runs it on Beam's bundle-based runner, on `HeadraceRunner`, and natively.
- :mod:`disputes`: where Beam is known to differ, as predicates on the program. :mod:`comparing`: the check.
- `python -m tests.beam.judge.twin` runs many, also on Spark.
"""
