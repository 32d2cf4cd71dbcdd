"""A headless Chromium that gets commands through a pipe (DevTools protocol).

    browser = Browser(executable, scratch)
    page = browser.page()
    page.open("file:///...")
    page.evaluate("document.title")
    page.press("w")
    page.errors         what the console, the policy or a script complained of
    browser.close()

Messages are JSON ended by a NUL byte, on descriptors 3 and 4 of the browser:
no port, no socket, no library.
"""

import json
import os
import queue
import shutil
import subprocess
import threading

from rig.wait import PATIENCE_S, Late, wait_until

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = "no Chromium: apt-get install --no-install-recommends chromium"


def find():
    """Path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """The process, its pipe, and a thread that reads from it."""

    def __init__(self, executable, scratch):
        ours_read, theirs_write = os.pipe()
        theirs_read, ours_write = os.pipe()

        def descriptors():
            # 3 and 4 may be in use for one another: go by way of high ones.
            high = [os.dup2(fd, fd + 100) for fd in (theirs_read, theirs_write)]
            for fd, number in zip(high, (3, 4)):
                os.dup2(fd, number)

        self.log = open(os.path.join(scratch, "browser.log"), "wb")
        # One thread at this moment: a function between fork and exec is safe.
        self.process = subprocess.Popen(
            [executable, "--headless", "--no-sandbox", "--disable-gpu",
             "--no-first-run", "--disable-dev-shm-usage",
             "--disable-background-networking", "--remote-debugging-pipe",
             "--window-size=1200,900", f"--user-data-dir={scratch}/profile",
             "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            preexec_fn=descriptors,  # pylint: disable=subprocess-popen-preexec-fn
            pass_fds=(3, 4))
        os.close(theirs_read)
        os.close(theirs_write)
        self.out = os.fdopen(ours_write, "wb", buffering=0)
        self.into = os.fdopen(ours_read, "rb")
        self.replies, self.pages, self.number = {}, {}, 0
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """Replies to who waits for them, events to their page."""
        left = b""
        while True:
            some = self.into.read1(65536)
            if not some:
                break
            *whole, left = (left + some).split(b"\0")
            for text in whole:
                message = json.loads(text)
                if "id" in message:
                    self.replies[message["id"]].put(message)
                elif message.get("sessionId") in self.pages:
                    self.pages[message["sessionId"]].event(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        reply = self.replies[self.number] = queue.Queue()
        self.out.write(json.dumps(message).encode() + b"\0")
        try:
            answer = reply.get(timeout=PATIENCE_S * 2)
        except queue.Empty:
            raise Late(f"the browser does not answer {method}") from None
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def page(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target,
                            flatten=True)["sessionId"]
        return Page(self, session, target)

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self.process.wait()
            self.out.close()
            self.reader.join(PATIENCE_S)
            self.into.close()
            self.log.close()


class Page:
    """One tab."""

    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target
        self.errors, self.loaded = [], threading.Event()
        browser.pages[session] = self
        for domain in "Page", "Runtime", "Log":
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def event(self, message):
        what, about = message["method"], message["params"]
        if what == "Page.loadEventFired":
            self.loaded.set()
        elif what == "Runtime.exceptionThrown":
            self.errors.append(str(about["exceptionDetails"]))
        elif what == "Runtime.consoleAPICalled" and about["type"] == "error":
            self.errors.append(str(about["args"]))
        elif what == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(about["entry"]["text"])
        elif what == "Page.javascriptDialogOpening":
            self.errors.append("dialog: " + about["message"])

    def open(self, url):
        """Go there and wait until it is loaded and drawn."""
        self.errors.clear()
        self.call("Page.navigate", url="about:blank")
        wait_until(lambda: self.evaluate("location.href") == "about:blank",
                   "an empty page")
        self.loaded.clear()
        self.call("Page.navigate", url=url)
        assert self.loaded.wait(PATIENCE_S), f"{url} does not load"

    def evaluate(self, expression):
        """The value of an expression in the page, awaited."""
        result = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def press(self, *keys):
        """Keys as a person presses them; then the next frame is awaited."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else {}
            if key == "Enter":
                text = {"text": "\r"}
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.frame()

    def frame(self):
        """What was asked for is drawn."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => "
                      "requestAnimationFrame(() => done(true))))")

    def mouse(self, kind, x, y, buttons=0, modifiers=0):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y,
                  button="left" if kind != "mouseMoved" else "none",
                  buttons=buttons, clickCount=1, modifiers=modifiers)

    def drag(self, start, end, modifiers=0):
        self.mouse("mousePressed", *start, 1, modifiers)
        self.mouse("mouseMoved", *end, 1, modifiers)
        self.mouse("mouseReleased", *end, 0, modifiers)
        self.frame()

    def media(self, kind="", **features):
        """Emulate print, or preferences such as prefers_color_scheme."""
        self.call("Emulation.setEmulatedMedia", media=kind, features=[
            {"name": name.replace("_", "-"), "value": value}
            for name, value in features.items()])

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=False)

    def scripts(self, on):
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def close(self):
        del self.browser.pages[self.session]
        self.browser.call("Target.closeTarget", targetId=self.target)
