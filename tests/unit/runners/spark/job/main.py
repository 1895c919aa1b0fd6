"""A script with code beside it, as a user would write one; prints what its workers have seen."""

import json
import sys

from beside import FixedWindows, place
from kit.count_fn import Count

from headrace.options.pipeline_options import PipelineOptions
from headrace.runners.spark.cluster.error_transport import unwrapping, wrapping
from headrace.runners.spark.cluster.session import prepare

SIZE = 60


def into_windows(batches):
    """Travels by value, for it is of ``__main__``; what it refers to is beside the script."""
    for batch in batches:
        yield place(batch, FixedWindows(SIZE), Count())


class Dry(Exception):
    """Of ``__main__``, so that it travels by value; it must be the same class when it comes back."""


def spilling(batches):
    with wrapping():
        from kit.errors import Spilled

        raise Spilled(42, "milk")


def drying(batches):
    with wrapping():
        raise Dry("the well")


def failure(spark, function) -> str:
    from kit.errors import Spilled

    try:
        with unwrapping():
            spark.range(1).mapInArrow(function, "id long").collect()
    except (Dry, Spilled) as error:
        return repr(error)
    return "nothing was raised"


def main() -> None:
    session = prepare(PipelineOptions(sys.argv[1:]))
    spark = session.spark
    rows = spark.range(0, 240, 1, 2).mapInArrow(into_windows, "window double, seen_in string")
    found = [row.asDict() for row in rows.collect()]
    failures = [failure(spark, function) for function in (spilling, drying)]
    context = spark.sparkContext
    print(json.dumps({"rows": found, "failures": failures, "master": context.master}))
    spark.stop()


if __name__ == "__main__":
    main()
