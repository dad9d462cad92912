"""A headless Chromium that reports what a page did wrong."""

import base64
import json
import os
import shutil
import sys
import tempfile

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
except ImportError:
    webdriver = None

import harness

SKIPPED = 77
AXE = os.path.join(harness.ROOT, "console", "node_modules", "axe-core", "axe.min.js")
# Pairs of texts in one figure whose boxes cover each other by more than a hairline.
OVERLAPS = """
const found = [];
for (const svg of document.querySelectorAll('main svg')) {
  const texts = [...svg.querySelectorAll('text')].flatMap((text) => {
    const rows = text.querySelectorAll('tspan');
    return rows.length ? [...rows] : [text];
  }).filter((text) => text.textContent.trim() && getComputedStyle(text).visibility !== 'hidden');
  const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()])
      .filter(([, box]) => box.width > 0 && box.height > 0);
  for (let i = 0; i < boxes.length; ++i) {
    for (let j = i + 1; j < boxes.length; ++j) {
      const [a, b] = [boxes[i][1], boxes[j][1]];
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (width > 2 && height > 3) found.push(`"${boxes[i][0]}" and "${boxes[j][0]}"`);
    }
  }
}
return found;
"""
READY = """
return document.readyState === 'complete' && document.querySelector('main h1') !== null &&
    ![...document.querySelectorAll('.skeleton')].some((one) => one.checkVisibility());
"""
AUDIT = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then((result) => done(
    result.violations.filter((one) => one.impact === 'serious' || one.impact === 'critical')
        .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(' | ')}`)));
"""


def require_browser():
    """Ends the program, as skipped, where there is no Chromium that Selenium can drive."""
    if webdriver is None:
        print("skipped: python3-selenium is not installed")
        sys.exit(SKIPPED)
    if shutil.which("chromedriver") is None or shutil.which("chromium") is None:
        print("skipped: chromium and chromedriver are not installed (Ubuntu has only a snap, which "
              "cannot be driven here)")
        sys.exit(SKIPPED)


class Browser:
    """Use it as a context manager; it ends the browser."""

    def __init__(self, width=1024, height=900, dark=False, scale=1):
        self.profile = tempfile.mkdtemp(prefix="assay-browser-")
        self.opened = 0  # Number of pages that were opened.
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-extensions",
                         "--disable-background-networking", "--no-first-run", "--hide-scrollbars",
                         "--disable-dev-shm-usage", "--ignore-certificate-errors",
                         "--process-per-site",
                         "--proxy-server=http://127.0.0.1:1",
                         "--proxy-bypass-list=<-loopback>;127.0.0.1;localhost",
                         f"--user-data-dir={self.profile}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")),
                                       options=options)
        self.driver.set_script_timeout(60)
        self.resize(width, height, scale)
        self.set_scheme(dark)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def resize(self, width, height=900, scale=1):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=scale, mobile=False)

    def set_scheme(self, dark):
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def open(self, url, seconds=60):
        """Opens a page and waits until it shows what it loads first."""
        # Another query, because another fragment alone would not load the page again.
        self.opened += 1
        self.driver.get(url.replace("#", f"?{self.opened}#"))
        self.await_ready(seconds)

    def await_ready(self, seconds=60):
        harness.eventually(lambda: self.run(READY), seconds,
                           f"the page {self.driver.current_url}")

    def settle(self):
        """Waits until two frames in a row have drawn the same number of elements."""
        self.driver.execute_async_script("""
            const done = arguments[arguments.length - 1];
            let last = -1;
            const look = () => {
              const count = document.getElementsByTagName('*').length;
              if (count === last) return done();
              last = count;
              setTimeout(() => requestAnimationFrame(look), 200);
            };
            look();""")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self):
        return self.run("return document.body.innerText")

    def press(self, *keys):
        """Types into whatever has the focus."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def overlaps(self):
        return self.run(OVERLAPS)

    def overflow(self):
        """Pixels by which the page is wider than the window."""
        return self.run("return document.documentElement.scrollWidth - window.innerWidth")

    def audit(self):
        """Serious findings of axe-core. It is injected through the debugger, because the page's
        policy forbids foreign scripts."""
        with open(AXE, encoding="utf-8") as file:
            self.command("Runtime.evaluate", expression=file.read())
        return self.driver.execute_async_script(AUDIT)

    def complaints(self):
        """Errors and reports of the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """URLs that were requested since the last call."""
        urls = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                urls.append(message["params"]["request"]["url"])
        return urls

    def picture(self, path, full=False):
        """Writes a PNG of the window, or of the whole page."""
        data = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))
