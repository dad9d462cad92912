"""Measures the console and the report on 500 simulated nodes, as an operator would meet them.

- pages: from the start of the navigation until the page shows its first data, and its first paint.
- idle: requests of an open page in a minute.
- answers: the largest answer of any page, as sent.
- viewers: `NodeService/ListNodes` of one page while 50 others watch the fleet, and the oldest
  heartbeat meanwhile.
- report: `assay report` over 10,000 results.
"""

import argparse
import datetime
import json
import os
import socket
import statistics
import sys
import threading
import time

import browser
import harness
from console_fleet import SIMULATED, ConsoleFleet, call
from simulate_test import simulation

NODES = 500
VIEWERS = 50
CALLS = 200
RUNS = 5
HEARTBEAT = 5.0
CAMPAIGN = """
name: nightly
exclusive: gpu
effort: quick
benchmarks:
  - memory_bandwidth: {bytes: 1GiB}
  - gemm: {m: 8192, n: =m, k: =m, dtype: bf16}
"""
PAGES = {
    "Fleet": "",
    "Campaigns": "campaigns",
    "Campaign": "campaign/nightly",
    "Results": f"results?{SIMULATED}",
    "Series": f"series?{SIMULATED}%20AND%20benchmark%20%3D%20gemm",
    "Compare": f"compare?by=node&a=sim-0001&b=sim-0002&{SIMULATED}",
    "Roofline": f"roofline?{SIMULATED}",
    "Links": "links",
    "Node": "node/sim-0001",
    "Findings": "findings?simulated=true",
}
# Time of the first paint and of now, since the navigation began.
TIMES = """
const paint = performance.getEntriesByName('first-contentful-paint')[0];
return [paint ? paint.startTime : null, performance.now()];
"""
# Resolves with the time when the page shows data.
UNTIL_READY = """
const done = arguments[arguments.length - 1];
const look = () => {
  const waits = [...document.querySelectorAll('.skeleton')].some((one) => one.checkVisibility());
  if (document.querySelector('main h1') && !waits) done(performance.now());
  else requestAnimationFrame(look);
};
look();
"""


class Report:
    def __init__(self):
        self.missed = False

    def line(self, name, value, unit, limit=None):
        missed = limit is not None and value > limit
        self.missed = self.missed or missed
        print(f"{name:<52} {value:10.1f} {unit}" + (f"   limit {limit}" if limit else "") +
              ("   MISSED" if missed else ""), flush=True)


def measure_pages(fleet, page, report):
    largest = 0
    for name, address in PAGES.items():
        paints, readies = [], []
        for _ in range(RUNS):
            page.driver.get("about:blank")
            page.driver.get_log("performance")
            page.driver.get(f"{fleet.console}#/{address}")
            ready = page.driver.execute_async_script(UNTIL_READY)
            paint, _ = page.run(TIMES)
            if paint is not None:  # The browser may report it late.
                paints.append(paint)
            readies.append(ready)
            for entry in page.driver.get_log("performance"):
                message = json.loads(entry["message"])["message"]
                if message["method"] == "Network.loadingFinished":
                    largest = max(largest, message["params"]["encodedDataLength"])
        report.line(f"page {name}: ready, median of {RUNS}", statistics.median(readies), "ms", 1000)
        report.line(f"page {name}: first paint", statistics.median(paints), "ms", 300)
    report.line("largest answer, as sent", largest / 1000, "kB", 256)


def measure_idle(fleet, page, report):
    page.open(fleet.console)
    count = "return performance.getEntriesByType('resource').length"
    before = page.run(count)
    harness.let_pass(60)
    report.line("requests of an idle page in 60 s", page.run(count) - before, "", 20)


class Viewer(threading.Thread):
    """A page that watches the fleet and reads what it gets."""

    def __init__(self, console):
        super().__init__(daemon=True)
        host, port = console.split("//")[1].rstrip("/").split(":")
        self.socket = socket.create_connection((host, int(port)))
        body = b"\0\0\0\0\2{}"
        self.socket.sendall((f"POST /assay.v1.NodeService/WatchFleet HTTP/1.1\r\nHost: {host}\r\n"
                             "Content-Type: application/connect+json\r\n"
                             f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
        self.bytes = 0

    def run(self):
        while data := self.socket.recv(1 << 16):
            self.bytes += len(data)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)


def oldest_heartbeat(fleet):
    """Seconds since the oldest heartbeat of a connected node."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return max((now - datetime.datetime.fromisoformat(
        node["lastHeartbeatTime"][:19] + "+00:00")).total_seconds()
        for node in call(fleet, "NodeService/GetFleet")["nodes"])


def measure_viewers(fleet, report):
    def calls():
        took, oldest = [], 0
        for i in range(CALLS):
            began = time.monotonic()
            call(fleet, "NodeService/ListNodes", pageSize=10)
            took.append((time.monotonic() - began) * 1000)
            if i % 20 == 0:
                oldest = max(oldest, oldest_heartbeat(fleet))
            harness.let_pass(0.05)
        took.sort()
        return took, oldest

    for viewers in (0, VIEWERS):
        watching = [Viewer(fleet.console) for _ in range(viewers)]
        for viewer in watching:
            viewer.start()
        took, oldest = calls()
        name = f"{viewers} viewers: ListNodes"
        report.line(f"{name}, median of {CALLS}", statistics.median(took), "ms")
        report.line(f"{name}, p99", took[int(0.99 * (CALLS - 1))], "ms", 50)
        report.line(f"{viewers} viewers: oldest heartbeat", oldest, "s", 3 * HEARTBEAT)
        if watching:
            report.line("bytes to a viewer", statistics.median(v.bytes for v in watching) / 1000, "kB")
        for viewer in watching:
            viewer.close()


def measure_report(fleet, report):
    path = fleet.path("report.html")
    took = []
    for _ in range(RUNS):
        began = time.monotonic()
        fleet.cli("report", "simulated = true", "-o", path)
        took.append(time.monotonic() - began)
    report.line(f"assay report, median of {RUNS}", statistics.median(took) * 1000, "ms", 3000)
    report.line("its file", os.path.getsize(path) / 1e6, "MB", 5)


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    browser.require_browser()
    report = Report()
    with ConsoleFleet() as fleet:
        fleet.heartbeat = f"{HEARTBEAT:g}s"
        fleet.lease = "30s"
        fleet.start()
        simulation(fleet, "simulation", nodes=NODES, jobs_take="5ms").start()
        fleet.await_connected(NODES)
        fleet.run(*[CAMPAIGN] * 2, seconds=600)
        with browser.Browser(1024) as page:
            measure_pages(fleet, page, report)
            measure_idle(fleet, page, report)
        measure_viewers(fleet, report)
        measure_report(fleet, report)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
