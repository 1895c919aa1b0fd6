"""Writes docs/reference/conformance.md and capabilities.md; runs Prism and the judge too, if asked."""

from __future__ import annotations

import argparse
import os
import sys

from tests.beam.conformance import reference_pages
from tests.beam.conformance.judged import judge_all
from tests.beam.conformance.marks import collected

NO_PRISM = """{path}: no such program. Prism is Beam's local runner written in Go, of the version of
apache-beam that is installed. Download it from the releases of apache/beam, or build it, with Go:
    go install github.com/apache/beam/sdks/v2/go/cmd/prism@v{version}
and say where it is: make conformance PRISM=path/to/prism"""


def main() -> None:
    """Write both reference_pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prism", metavar="PATH", help="the prism program; else its last answers")
    parser.add_argument(
        "--judge", action="store_true", help="judge Beam's runners; else the last reports"
    )
    given = parser.parse_args()
    prism = given.prism
    if prism and not os.access(prism, os.X_OK):
        sys.exit(NO_PRISM.format(path=prism, version=reference_pages.beam.__version__))  # type: ignore[attr-defined]
    if prism:
        reference_pages.run_prism(os.path.abspath(prism))
    if given.judge:
        judge_all(prism and os.path.abspath(prism))
    marks = collected()
    reference_pages.CONFORMANCE.write_text(reference_pages.conformance(marks))
    reference_pages.CAPABILITIES.write_text(reference_pages.capabilities(marks))


if __name__ == "__main__":
    main()
