"""A simulated fleet with planted findings, for tests and pictures of the console."""

import json
import os
import re
import urllib.request

import harness
from simulate_test import simulation, write

PROFILES = os.path.join(harness.ROOT, "agent", "simulate", "profiles")
HOSTILE = "<script>alert(1)</script>"
NIGHTS_BEFORE = 12
NIGHTS_AFTER = 6
NIGHTLY = """
name: nightly
exclusive: gpu
effort: quick
nodes: 'provider in ("vast.ai", "lambda", "rack")'
benchmarks:
  - memory_bandwidth: {op: [copy, triad], bytes: 1GiB}
  - gemm: {m: 8192, n: =m, k: =m, dtype: bf16}
  - gemm: {m: 8192, n: =m, k: =m, dtype: fp8_e4m3, layout: nt}
  - softmax: {rows: 16384, columns: 8192}
accept:
  - gemm[dtype=bf16].tflops >= 55% of spec
"""
SWEEP = """
name: all-reduce-sweep
effort: quick
nodes: 'provider in ("vast.ai", "lambda")'
benchmarks:
  - all_reduce: {bytes: {from: 1KiB, to: 4GiB, factor: 4}, ranks: 8}
"""
ROOFLINE = """
name: roofline
exclusive: gpu
effort: quick
nodes: name in ("vast-0001", "rack-0001")
benchmarks:
  - gemm: {m: {from: 256, to: 16384, factor: 2}, n: =m, k: =m, dtype: bf16}
  - memory_bandwidth: {op: [copy, triad], bytes: [64MiB, 1GiB]}
  - softmax: {rows: 16384, columns: [1024, 8192]}
"""
LINKS = """
name: links
placement: pairs
effort: quick
nodes: provider = "vast.ai"
benchmarks:
  - tcp_bandwidth: {streams: 4, bytes: 4MiB}
"""
ABSENT = """
name: waits-for-a-node
absent: wait
nodes: name = "gone-0001"
benchmarks:
  - memory_bandwidth: {bytes: 1GiB}
"""
ACCEPTANCE = """
name: acceptance
effort: quick
nodes: name in ("bad-0001", "vast-0002")
benchmarks:
  - memory_bandwidth: {bytes: 1GiB}
  - gemm: {m: 8192, n: =m, k: =m, dtype: bf16}
accept:
  - gemm.tflops >= 60% of spec
"""
LONG = """
name: soak
exclusive: gpu
effort: quick
repetitions: 10
nodes: name = "busy-0001"
benchmarks:
  - gemm: {m: 8192, n: =m, k: =m, dtype: bf16}
  - memory_bandwidth: {bytes: 1GiB}
"""
PAUSED = LONG.replace("soak", "burn-in").replace("busy-", "lambda-")
# By prefix of the nodes' names.
FAULTS = {
    "vast-": "  - slow_gpu: {node: vast-0003, gpu: 3, factor: 0.88}\n"
             "  - slow_link: {node: vast-0005, peer: vast-0007, factor: 0.5}\n",
    "lambda-": "  - lying_node: {node: lambda-0002, factor: 3}\n",
    "rack-": "",
}
UPGRADE = """  - driver_step: {node: "*", driver: "590.10", factor: 0.93, since: 2026-01-01}
"""
# Prefix, profile, provider, region, rack, number of nodes.
GROUPS = (("vast-", "8x-h200", "vast.ai", "us-west", "", 8),
          ("lambda-", "8x-h200", "lambda", "us-east", "", 4),
          ("rack-", "8x-h100", "rack", "home", "7", 2))


# Each pass judges again what was stored in the last minute, so a shorter interval only costs time.
JUDGING = ("--judge-every", "2s", "--rerun-spacing", "100ms")
SIMULATED = "filter=simulated%20%3D%20true"


def call(fleet, method, **request):
    """Calls a method such as "NodeService/ListNodes" through the console."""
    http = urllib.request.Request(f"{fleet.console}assay.v1.{method}",
                                  data=json.dumps(request).encode(),
                                  headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(http, timeout=30) as answer:
        return json.load(answer)


def pages(fleet):
    """Returns the address of every page, as a person would reach it, by its name."""
    result = call(fleet, "ResultService/ListResults", pageSize=1,
                  filter="simulated = true AND benchmark = gemm")["results"][0]["resultId"]
    found = {
        "fleet": "?by=provider",
        "campaigns": "campaigns",
        "campaign": "campaign/acceptance",
        "nightly": "campaign/nightly",
        "results": f"results?{SIMULATED}",
        "sweep": f"results?{SIMULATED}%20AND%20campaign%20%3D%20all-reduce-sweep",
        "result": f"result/{result}",
        "series": f"series?{SIMULATED}%20AND%20benchmark%20%3D%20gemm%20AND%20node%20%3D%20vast-0003",
        "compare": f"compare?by=driver&{SIMULATED}",
        "roofline": f"roofline?{SIMULATED}%20AND%20campaign%20%3D%20roofline",
        "links": "links?campaign=links",
        "node": "node/vast-0003",
        "cordoned": "node/vast-0004",
        "paused": "campaign/burn-in",
        "findings": "findings?simulated=true",
    }
    return {name: f"{fleet.console}#/{page}" for name, page in found.items()}


def profile(fleet, name, provider, region, rack):
    """Writes a profile of nodes at this provider; returns its path."""
    with open(os.path.join(PROFILES, f"{name}.textproto"), encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r'(?m)^provider: .*$', f'provider: "{provider}"', text)
    text = re.sub(r'(?m)^region: .*$', f'region: "{region}"', text)
    if rack:
        text += f'labels {{ key: "rack" value: "{rack}" }}\n'
    return write(fleet, f"{provider}.textproto", text)


class ConsoleFleet(harness.Fleet):
    """Start it with start(), then plant(). The console's address is `console`."""

    def __init__(self):
        super().__init__()
        self.simulations = []

    def start(self, *options):
        return super().start(*JUDGING, *options)

    @property
    def console(self):
        return self.coordinator.addresses["console"]

    def simulate(self, stage, upgrade="", first_run=0, jobs_take="5ms"):
        """Replaces all simulated nodes."""
        for process in self.simulations:
            process.stop()
        self.simulations = []
        for prefix, base, provider, region, rack, count in GROUPS:
            options = ["--seed", "3", "--first-run", str(first_run), "--prefix", prefix,
                       "--profile", profile(self, base, provider, region, rack)]
            if FAULTS[prefix] + upgrade:
                options += ["--faults", write(self, f"{stage}-{prefix}.yaml",
                                              f"faults:\n{FAULTS[prefix]}{upgrade}")]
            self.simulations.append(simulation(self, f"{stage}-{prefix}", *options, nodes=count,
                                               jobs_take=jobs_take).start())
        self.await_connected(sum(group[-1] for group in GROUPS))

    def await_connected(self, count):
        harness.eventually(
            lambda: sum(node["state"] == "NODE_STATE_CONNECTED" for node in self.nodes()) >= count,
            60, f"{count} sessions")

    def run(self, *campaigns, seconds=120):
        for campaign in campaigns:
            self.await_end(self.submit(campaign), seconds)

    def plant(self):
        """Runs nights before and after a driver upgrade that costs 7%, on nodes of which one has a
        slow GPU, one reports impossible values and two have a bad link; then the other
        campaigns."""
        self.plant_hostile_node()
        self.simulate("before")
        self.run(*[NIGHTLY] * NIGHTS_BEFORE)
        self.cli("baseline", "set", "before-590", "--filter", "simulated = true")
        self.simulate("after", UPGRADE, NIGHTS_BEFORE)
        acceptance = self.plant_failing_node()  # Its jobs wait for their retries meanwhile.
        self.cli("annotate", "Driver 590.10 installed on all nodes")
        self.run(*[NIGHTLY] * NIGHTS_AFTER)
        harness.eventually(
            lambda: any(one["state"] == "confirmed" for one in
                        self.cli_json("regressions", "--simulated")["incidents"]),
            120, "a confirmed incident")
        self.run(SWEEP, ROOFLINE, LINKS)
        self.lose_node()
        self.submit(ABSENT)
        self.await_end(acceptance)
        self.operate()
        self.keep_busy()

    def operate(self):
        """Does what operators do: cordons, labels and prices a node, pauses a campaign and adds a
        schedule."""
        self.cli("node", "cordon", "vast-0004", "--reason", "new fans")
        self.cli("node", "label", "vast-0004", "rack=9")
        self.cli("node", "price", "vast-0004", "19.50")
        self.cli("campaign", "pause", self.submit(PAUSED))
        self.cli("schedule", "add", self.write_campaign(NIGHTLY), "--cron", "0 2 * * *",
                 "--time-zone", "Europe/Berlin")

    def plant_hostile_node(self):
        """Connects a node whose name and label are hostile to pages."""
        with open(os.path.join(PROFILES, "cpu.textproto"), encoding="utf-8") as file:
            text = file.read()
        label = ("<img src=x onerror=alert(2)>" * 10)[:250]  # A label has at most 256 bytes.
        path = write(self, "hostile.textproto", f'{text}labels {{ key: "note" value: "{label}" }}\n')
        simulation(self, "hostile", "--prefix", HOSTILE, "--profile", path, nodes=1).start()

    def plant_failing_node(self):
        """Connects a node whose jobs all fail, and returns a campaign that begins on it."""
        faults = write(self, "failing.yaml", "faults:\n  - failing_node: {node: bad-0001}\n")
        simulation(self, "failing", "--prefix", "bad-", "--faults", faults, nodes=1).start()
        self.await_node("bad-0001")
        return self.submit(ACCEPTANCE)

    def keep_busy(self):
        """Connects a node that runs the same jobs for as long as anyone looks."""
        simulation(self, "busy", "--prefix", "busy-", nodes=1, jobs_take="600s").start()
        self.await_node("busy-0001")
        self.submit(LONG)

    def lose_node(self):
        """Connects a node and ends it."""
        gone = simulation(self, "gone", "--prefix", "gone-", nodes=1).start()
        self.await_node("gone-0001")
        gone.kill()
        self.await_node("gone-0001", "DISCONNECTED")
