"""The console in a real browser, on a simulated fleet with planted findings."""

import json
import socket
import subprocess
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request

import browser
import harness
from console_fleet import HOSTILE, JUDGING, ConsoleFleet, pages

WIDTHS = (360, 1024, 1920)
KEY_ENTER, KEY_ESCAPE, KEY_TAB = "\ue007", "\ue00c", "\ue004"


def request(url, body=None, **headers):
    """Returns the status and the body of an answer."""
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        headers = {"Content-Type": "application/json", **headers}
    try:
        with urllib.request.urlopen(urllib.request.Request(
                url, data=data, headers={name.replace("_", "-"): value
                                         for name, value in headers.items()}), timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


class ConsoleTest(harness.FleetCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fleet = ConsoleFleet()
        cls.addClassCleanup(cls.fleet.__exit__, None, None, None)
        cls.fleet.__enter__().start()
        cls.fleet.plant()
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.__exit__, None, None, None)
        cls.pages = pages(cls.fleet)

    def visit(self, page):
        self.browser.open(self.pages[page])

    def test_every_page_at_every_width_and_scheme(self):
        for dark in (False, True):
            self.browser.set_scheme(dark)
            for width in WIDTHS:
                self.browser.resize(width)
                for page in self.pages:
                    with self.subTest(page=page, width=width, dark=dark):
                        self.browser.complaints()
                        self.browser.requests()
                        self.visit(page)
                        self.assertEqual(self.browser.overlaps(), [])
                        self.assertLessEqual(self.browser.overflow(), 0)
                        if width == WIDTHS[1]:
                            self.assertEqual(self.browser.audit(), [])
                        self.assertEqual(self.browser.complaints(), [])
                        foreign = [url for url in self.browser.requests()
                                   if not url.startswith((self.fleet.console, "data:", "about:"))]
                        self.assertEqual(foreign, [])

    def test_pages_name_what_was_planted(self):
        self.browser.resize(1280)
        expected = {
            "fleet": ("vast-0003", "lambda-0002", "lost", "confirmed regression", "cordoned"),
            "campaigns": ("nightly", "soak", "waits-for-a-node", "all-reduce-sweep", "paused",
                          "0 2 * * *", "Europe/Berlin"),
            "campaign": ("gemm", "memory_bandwidth", "60% of spec", "bad-0001"),
            "results": ("softmax", "TFLOP/s", "GB/s"),
            "series": ("590.10", "vast-0003"),
            "compare": ("580.95.05", "590.10", "regressed"),
            "links": ("vast-0005", "vast-0007", "tcp_bandwidth", "bad link"),
            "node": ("H200", "590.10", "vast.ai", "NVLink errors"),
            "cordoned": ("cordoned", "Gets no new jobs", "new fans", "$19.50", "label rack",
                         "set by an operator"),
            "paused": ("paused", "assay campaign resume"),
            "findings": ("590.10", "vast-0003", "lambda-0002"),
        }
        for page, words in expected.items():
            self.visit(page)
            for word in words:
                with self.subTest(page=page, word=word):
                    harness.eventually(lambda word=word: word in self.browser.text(), 30,
                                       f'"{word}" on the page {page}')

    def test_keyboard_reaches_filter_rows_and_help(self):
        for page in self.pages:
            with self.subTest(page=page):
                self.visit(page)
                self.browser.press("?")
                harness.eventually(lambda: self.browser.run(
                    "return document.querySelector('dialog[open]') !== null"), 30, "the help")
                self.browser.press(KEY_ESCAPE)
                harness.eventually(lambda: self.browser.run(
                    "return document.querySelector('dialog[open]') === null"), 30, "no help")
                seen = set()
                for _ in range(12):
                    self.browser.press(KEY_TAB)
                    seen.add(self.browser.run("""
                        const e = document.activeElement;
                        const r = e.getBoundingClientRect();
                        return e === document.body || r.width === 0 ? null :
                            e.tagName + e.textContent.slice(0, 40) + e.getAttribute('aria-label')"""))
                self.assertGreater(len(seen - {None}), 8)
        for page in ("fleet", "results", "series", "roofline"):
            with self.subTest(filter=page):
                self.visit(page)
                self.browser.press("/")
                self.assertEqual(self.browser.run("return document.activeElement.tagName"), "INPUT")
        self.visit("campaigns")
        self.browser.press("j")
        self.browser.press("j")
        self.browser.press("k")
        self.browser.press(KEY_ENTER)
        harness.eventually(lambda: "#/campaign/" in self.browser.driver.current_url, 30,
                           "the first campaign")

    def test_hostile_names_stay_text(self):
        self.visit("fleet")
        harness.eventually(lambda: HOSTILE in self.browser.text() or self.browser.run(
            "return document.body.textContent").count("<script>alert"), 30, "the hostile node")
        self.browser.open(f"{self.fleet.console}#/node/{urllib.parse.quote(HOSTILE + '0001', safe='')}")
        harness.eventually(lambda: HOSTILE in self.browser.text(), 30, "the hostile node's page")
        self.assertLessEqual(self.browser.overflow(), 0)
        self.assertEqual(self.browser.run("return document.querySelectorAll('main script, main img').length"), 0)
        self.assertEqual(self.browser.complaints(), [])

    def test_coordinator_restarts_under_an_open_page(self):
        self.visit("fleet")
        self.fleet.coordinator.kill()
        harness.eventually(lambda: "does not answer" in self.browser.text(), 60, "the banner")
        self.fleet.restart_coordinator(*JUDGING)
        harness.eventually(lambda: "does not answer" not in self.browser.text(), 90,
                           "the banner's end")
        harness.eventually(lambda: "vast-0003" in self.browser.run(
            "return document.body.textContent"), 30, "the fleet again")
        self.browser.complaints()  # Refused connections are reported; they are the test's.

    def test_idle_page_asks_seldom(self):
        """An open page takes the fleet from one stream. Ten messages of it are about a minute."""
        self.visit("fleet")
        self.browser.requests()
        summary = "return performance.getEntriesByType('resource').length"
        first = self.browser.run(summary)
        harness.let_pass(20)
        self.assertLess(self.browser.run(summary) - first, 7)

    def test_slow_readers_do_not_keep_others_waiting(self):
        host, port = self.fleet.console.split("//")[1].rstrip("/").split(":")
        slow = []
        body = b"{}"
        envelope = b"\0" + len(body).to_bytes(4, "big") + body
        head = (f"POST /assay.v1.NodeService/WatchFleet HTTP/1.1\r\nHost: {host}\r\n"
                "Content-Type: application/connect+json\r\n"
                f"Content-Length: {len(envelope)}\r\n\r\n").encode()
        for _ in range(100):
            reader = socket.create_connection((host, int(port)))
            reader.sendall(head + envelope)
            slow.append(reader)
        self.assertEqual(request(f"{self.fleet.console}assay.v1.NodeService/ListNodes", {})[0], 200)
        self.visit("fleet")
        self.fleet.cli("node", "list")
        for reader in slow:
            reader.close()


class BeyondLoopbackTest(harness.FleetCase):
    TOKEN = "0123456789abcdef0123456789abcdef"

    def setUp(self):
        super().setUp()
        self.fleet = self.open(harness.Fleet())
        self.fleet.postgres.start()

    def certificate(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", self.fleet.path("key.pem"), "-out", self.fleet.path("cert.pem")],
                       check=True, capture_output=True)
        return ["--console-tls-cert", self.fleet.path("cert.pem"),
                "--console-tls-key", self.fleet.path("key.pem")]

    def coordinator(self, *options, **env):
        return self.fleet.new_coordinator("coordinator", *options, console="0.0.0.0:0", env=env)

    def test_page_asks_for_the_token_once(self):
        coordinator = self.coordinator(*self.certificate(), ASSAY_CONSOLE_TOKEN=self.TOKEN).start()
        url = coordinator.addresses["console"].replace("0.0.0.0", "localhost")
        self.assertTrue(url.startswith("https://"))
        with browser.Browser() as page:
            page.driver.get(url)
            harness.eventually(lambda: page.run(
                "return document.querySelector('input[type=password]') !== null"), 30, "the login")
            page.open(f"{url}#token={self.TOKEN}")
            self.assertNotIn(self.TOKEN, page.driver.current_url)
            # From now on the cookie is enough. Scripts cannot read it.
            page.open(url)
            self.assertEqual(page.run("return document.cookie"), "")

    def test_coordinator_says_what_is_missing(self):
        for options, env, missing in (
                ([], {"ASSAY_CONSOLE_TOKEN": self.TOKEN}, "--console-tls-cert"),
                (self.certificate(), {}, "ASSAY_CONSOLE_TOKEN")):
            coordinator = self.coordinator(*options, **env)
            with self.assertRaisesRegex(AssertionError, "ended with 2"):
                coordinator.start()
            self.assertIn(missing, coordinator.tail())


if __name__ == "__main__":
    browser.require_browser()
    unittest.main(argv=sys.argv)
