"""What the tests of the examples share: the directory of the examples, from which they import."""

import sys

from tests.support.repository import ROOT

EXAMPLES = ROOT / "examples"

sys.path.insert(0, str(EXAMPLES))
