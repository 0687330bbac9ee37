# SPDX-License-Identifier: MIT
"""A headless Chromium that is spoken to over a pair of pipes (its DevTools protocol): pages are opened, looked at, measured."""

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 120  # seconds for one answer, on a busy machine


class Browser:
    def __init__(self):
        binary = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
        if not binary:
            raise SystemExit("no chromium on this machine: apt-get install chromium, or name one in CHROMIUM")
        self._home = tempfile.TemporaryDirectory(prefix="shapecache-browser-", ignore_cleanup_errors=True)
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (theirs_in, theirs_out)]

        def place():
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        self._errors = open(pathlib.Path(self._home.name) / "stderr", "w+")
        self._process = subprocess.Popen(
            [binary, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--no-first-run",
             "--hide-scrollbars", "--force-device-scale-factor=1", "--disable-background-networking", "--disable-component-update",
             "--remote-debugging-pipe", f"--user-data-dir={self._home.name}/profile", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._errors, preexec_fn=place, pass_fds=(3, 4),
            env=os.environ | {"HOME": self._home.name})
        for fd in (theirs_in, theirs_out, *theirs):
            os.close(fd)
        self._in, self._out, self._bytes = ours_in, ours_out, b""
        self._number, self._answers, self.events = 0, {}, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._errors.close()
        self._home.cleanup()

    def _read(self, until):
        """One message into `_answers` or `events`."""
        while b"\0" not in self._bytes:
            ready, _, _ = select.select([self._in], [], [], max(0, until - time.monotonic()))
            more = os.read(self._in, 1 << 20) if ready else b""
            if not more:
                self._errors.seek(0)
                said = self._errors.read()[-600:]
                raise RuntimeError(f"chromium {'has ended' if ready else f'gave no answer in {PATIENCE} s'}: {said}")
            self._bytes += more
        message, _, self._bytes = self._bytes.partition(b"\0")
        message = json.loads(message)
        if "id" in message:
            self._answers[message["id"]] = message
        else:
            self.events.append(message)

    def call(self, method, session=None, **arguments):
        self._number += 1
        message = {"id": self._number, "method": method, "params": arguments} | ({"sessionId": session} if session else {})
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        until = time.monotonic() + PATIENCE
        while self._number not in self._answers:
            self._read(until)
        answer = self._answers.pop(self._number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait_for(self, method, session):
        until = time.monotonic() + PATIENCE
        while not any(e["method"] == method and e.get("sessionId") == session for e in self.events):
            self._read(until)

    def page(self, path, *, width=1400, height=900, dark=False):
        return Page(self, pathlib.Path(path).resolve(), width, height, dark)


class Page:
    """One file, loaded. `problems` are console errors and exceptions, `requests` what it asked for besides itself."""

    def __init__(self, browser, path, width, height, dark):
        self._browser = browser
        browser.events.clear()
        self._target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.resize(width, height)
        self.url = path.as_uri()
        self.call("Page.navigate", url=self.url)
        browser.wait_for("Page.loadEventFired", self._session)
        self.settle()

    def call(self, method, **arguments):
        return self._browser.call(method, self._session, **arguments)

    def resize(self, width, height=900):
        self.width = width
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def settle(self):
        """Until two frames have been drawn: what was to be resized is."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))")

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:800])
        return answer["result"].get("value")

    def press(self, key, code=None):
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, **(text if kind == "keyDown" else {}))

    def screenshot(self, path, selector=None):
        """Of one element, or of the whole page."""
        find = f"document.querySelector({json.dumps(selector)})" if selector else "document.documentElement"
        box = self.evaluate(f"(() => {{ const b = {find}.getBoundingClientRect(); return [b.left + scrollX, b.top + scrollY, b.width, b.height]; }})()")
        clip = dict(zip(("x", "y", "width", "height"), box)) | {"scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def _events(self, method):
        return [e["params"] for e in self._browser.events if e["method"] == method and e.get("sessionId") == self._session]

    def problems(self):
        said = [e["exceptionDetails"].get("exception", {}).get("description", e["exceptionDetails"]["text"]) for e in self._events("Runtime.exceptionThrown")]
        said += [" ".join(str(a.get("value", a.get("description"))) for a in e["args"]) for e in self._events("Runtime.consoleAPICalled") if e["type"] in ("error", "warning", "assert")]
        said += [e["entry"]["text"] for e in self._events("Log.entryAdded") if e["entry"]["level"] in ("error", "warning")]
        return said

    def requests(self):
        return [e["request"]["url"] for e in self._events("Network.requestWillBeSent") if e["request"]["url"] != self.url]

    def close(self):
        self._browser.call("Target.closeTarget", targetId=self._target)
