"""A real Chromium without a window, driven over its DevTools protocol through two pipes.

``with running() as browser`` starts one; ``browser.open(url)`` loads a page at a width, dark or light.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

NOT_INSTALLED: Final = (
    "Chromium is not installed: apt-get install chromium (or brew install --cask chromium); nothing needs "
    "to be started or set up"
)

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

PATIENCE: Final = 60
"""Maximum time to wait for a condition, in seconds."""

READS_3_WRITES_4: Final = 'exec "$@" 3<&"$IN" 4>&"$OUT"'


def program() -> str | None:
    """The path of the browser; None if there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """A browser with one page.

    Args:
        send: sends a message to the browser.
        receive: returns its next message.
    """

    def __init__(
        self, send: Callable[[dict[str, Any]], None], receive: Callable[[], dict[str, Any]]
    ) -> None:
        self._send, self._receive, self._number, self._session = send, receive, 0, ""
        self.console: list[str] = []
        page = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def open(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Load a page, as a phone of that width does if it is narrow; return when it is loaded."""
        phone = {"deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, **phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self.console.clear()
        self._call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page, as plain data."""
        done = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, (expression, done["exceptionDetails"])
        return done["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Wait until an expression is true, and return its value."""
        end = time.monotonic() + PATIENCE
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < end, f"{expression} did not become true: {self.html()[:5000]}"
            time.sleep(0.05)
        return value

    def texts(self, selector: str) -> list[str]:
        """The visible texts of the elements that a CSS selector finds, without surrounding space."""
        quoted = json.dumps(selector)
        found = self.evaluate(f"[...document.querySelectorAll({quoted})].map(e => e.innerText)")
        return [text.strip() for text in found]

    def count(self, selector: str) -> int:
        """The number of elements that a CSS selector finds."""
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def html(self) -> str:
        """The page as it is now, as HTML."""
        return self.evaluate("document.documentElement.outerHTML")

    def screenshot(self, path: Path) -> Path:
        """Write a picture of the whole page as PNG, and return its path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        picture = self._call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(picture))
        return path

    def point_at(self, x: float, y: float) -> None:
        """Move the mouse to a place of the window."""
        for place in ((0, 0), (x, y)):
            self._call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])

    def close(self) -> None:
        """End the browser."""
        self._session = ""
        with suppress(EOFError):
            self._call("Browser.close")

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        self._send(message | ({"sessionId": self._session} if self._session else {}))
        while (answer := self._receive()).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def _note(self, event: dict[str, Any]) -> None:
        """Keep what the page writes to the console, its errors and violations of its policies."""
        method, params = event.get("method"), event.get("params", {})
        if method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.console.append(json.dumps(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(a.get("value")) for a in params["args"]))


@contextmanager
def running() -> Iterator[Browser]:
    """A new browser with an empty profile, which is gone afterwards."""
    found = program()
    assert found is not None, NOT_INSTALLED
    profile = mkdtemp(prefix="headrace-chromium-")
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    process = _start(found, profile, their_in, their_out)
    os.close(their_in)
    os.close(their_out)
    try:
        with open(our_out, "wb") as requests, open(our_in, "rb") as answers:
            browser = Browser(lambda message: _write(requests, message), lambda: _read(answers))
            yield browser
            browser.close()
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)


def _start(browser: str, profile: str, reads: int, writes: int) -> subprocess.Popen[bytes]:
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--hide-scrollbars",
        "--remote-debugging-pipe",
        f"--user-data-dir={profile}",
    ]
    return subprocess.Popen(
        ["bash", "-c", READS_3_WRITES_4, "bash", browser, *flags],
        env={**os.environ, "IN": str(reads), "OUT": str(writes)},
        pass_fds=(reads, writes),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _write(pipe: Any, message: dict[str, Any]) -> None:
    pipe.write(json.dumps(message).encode() + b"\0")
    pipe.flush()


def _read(pipe: Any) -> dict[str, Any]:
    message = bytearray()
    while (byte := pipe.read(1)) != b"\0":
        if not byte:
            raise EOFError("the browser has ended")
        message += byte
    return json.loads(message)
