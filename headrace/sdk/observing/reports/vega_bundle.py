"""The JavaScript of Vega, Vega-Lite and Vega-Embed in one script, from the package vl_convert."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from threading import Lock, Thread
from typing import Final

_PROGRAM: Final = (
    "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"
)
_LOCK: Final = Lock()


class VegaBundle:
    """Makes the script in another process, since it takes seconds; a program makes it only once."""

    def begin(self) -> None:
        """Start to make the script."""
        Thread(target=self.text, name="headrace-vega", daemon=True).start()

    def text(self) -> str:
        """Wait for the script, and return it."""
        with _LOCK:
            return _made()


@cache
def _made() -> str:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, check=True)
    return done.stdout.decode().replace("</script", "<\\/script")
