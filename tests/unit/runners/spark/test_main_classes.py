"""Classes of the user's script: what workers make of them travels by name, and is of the same classes."""

import subprocess
import sys
from pathlib import Path

from tests.support.repository import ROOT

SCRIPT = '''
import pickle, subprocess, sys
import attrs
from pyspark import cloudpickle
from headrace.runners.spark.cluster.code.main_classes import classes_in
from headrace.runners.spark.shuffle.wire import dumps

@attrs.frozen
class Sale:
    amount: int
    def doubled(self):
        return Sale(2 * self.amount)

class Unused:
    connection = sys.stdout  # which cannot travel

WORKER = """
import pickle, sys
plan, made = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps([sale.doubled() for sale in made()]))
"""

def made():
    return [Sale(n) for n in range(3)]

if __name__ == "__main__":
    found = classes_in([made])
    assert dict(found.classes) == {"Sale": Sale}
    plan = cloudpickle.dumps((found, made))
    done = subprocess.run([sys.executable, "-c", WORKER], input=plan, stdout=-1, check=True)
    assert b"cloudpickle" not in done.stdout, "by name"
    assert pickle.loads(done.stdout) == [Sale(0), Sale(2), Sale(4)]
    assert pickle.loads(plan)[1]()[0] == Sale(0), "on the driver nothing changes"
    assert Sale.__module__ == "__main__"
'''


def test_classes_of_the_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = str(ROOT)
    done = subprocess.run(
        [sys.executable, script],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
