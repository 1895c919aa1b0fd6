"""The command ``headrace``.

``headrace package JOB.py -o job.zip`` packs a job for the workers of a Spark cluster.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.sdk.options.output_paths import check_file


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    arguments = _parser().parse_args(argv)
    try:
        return _package(arguments)
    except HeadraceError as error:
        print(f"headrace: {error}", file=sys.stderr)
        return 1


def _package(arguments: argparse.Namespace) -> int:
    check_file(arguments.output, "--output")
    archive = import_module("headrace.runners.spark.cluster.code.archive")
    job = archive.job_of(arguments.script, arguments.include, arguments.without)
    job.write(arguments.output)
    print(job.described(arguments.script, arguments.output))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headrace", description="The Dataflow model in Python.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    package = commands.add_parser(
        "package",
        help="pack a job for the workers of a Spark cluster",
        description="Write a zip file with the modules and packages that a program imports, as they are "
        "installed here. Spark unpacks it on the workers: spark-submit --archives job.zip#job JOB.py",
    )
    add_package_arguments(package)
    return parser


def add_package_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``headrace package``."""
    parser.add_argument("script", type=Path, help="the program")
    parser.add_argument("-o", "--output", type=Path, default=Path("job.zip"), metavar="ZIP")
    parser.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module that the program imports by name only; can be repeated",
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="a package that the workers have, such as pyarrow; can be repeated",
    )


if __name__ == "__main__":
    sys.exit(main())
