"""A headless Chromium that is told what to do, by the DevTools protocol over two pipes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def program() -> str | None:
    """The browser's program, from TL_TEST_BROWSER or the path; None without one."""
    return os.environ.get("TL_TEST_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a browser that runs as long as the block."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._number = 0

    def __enter__(self) -> Self:
        self._folder = tempfile.mkdtemp()
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--window-size=1280,900",
                   f"--user-data-dir={self._folder}", "about:blank"]  # fmt: skip
        # the protocol's pipes are descriptors 3 and 4
        shell = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$0" "$@"'
        self._process = subprocess.Popen(["bash", "-c", shell, self._command, *options],
                                         pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self._lines = os.fdopen(self._from, "rb")
        self._rest = b""
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._to)
        self._lines.close()
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": parameters}
        asked |= {"sessionId": session} if session else {}
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        while (answer := self._message()).get("id") != self._number:
            pass  # events
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = self._lines.read1(1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def open(self, page: Path, query: str = "") -> None:
        """Loads a page; `evaluate` then runs in it."""
        self._ask("Page.navigate", self._session, url=page.as_uri() + query)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript, or of what it promises.

        Raises:
            RuntimeError: it threw.
        """
        answer = self._ask("Runtime.evaluate", self._session, expression=expression, awaitPromise=True,
                           returnByValue=True)  # fmt: skip
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"].get("exception", {}).get("description")))
        return answer["result"].get("value")
