"""Compares tcp_bandwidth with iperf3, on loopback and between two network namespaces.

The two run in turns, so that other load affects both alike, and the medians of the turns are
compared. Exits with 1 if tcp_bandwidth is below 0.95 of iperf3, and with 77 without iperf3 or if
namespaces are not allowed. `--loopback` measures only loopback.
"""

import json
import shutil
import statistics
import subprocess
import sys

import harness
import namespaces
from gang_fleet import GangFleet

TURNS = 7
SECONDS = 4
BAR = 0.95
CAMPAIGN = """
name: beside-iperf3
placement: pairs
benchmarks:
  - tcp_bandwidth: {{streams: {streams}}}
"""


def iperf3(server_prefix, client_prefix, address, streams):
    """Returns the GB/s that the server received."""
    port = str(harness.free_port())
    with subprocess.Popen([*server_prefix, "iperf3", "-s", "-1", "-p", port, "--forceflush"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as server:
        try:
            while "listening" not in server.stdout.readline():
                pass
            client = subprocess.run(
                [*client_prefix, "iperf3", "-c", address, "-p", port, "-t", str(SECONDS),
                 "-P", str(streams), "-O", "1", "-J"],
                capture_output=True, text=True, timeout=60, check=True)
        finally:
            server.terminate()
    return json.loads(client.stdout)["end"]["sum_received"]["bits_per_second"] / 8e9


def on_loopback(streams):
    run = subprocess.run([harness.RUNNER, "run", "tcp_bandwidth", f"streams={streams}",
                          "-o", "json"], capture_output=True, text=True, timeout=120, check=True)
    return json.loads(run.stdout)[0]["median"]


def between_nodes(fleet, streams):
    campaign = fleet.submit(CAMPAIGN.format(streams=streams))
    ended = fleet.await_end(campaign)
    if ended["jobs"]["succeeded"] != 1:
        raise AssertionError(ended)
    result, = fleet.cli_json("results", "--campaign", campaign)
    return result["median"]


def compare(name, ours, theirs):
    """Prints a line and returns true if the bar is met."""
    pairs = [(ours(), theirs()) for _ in range(TURNS)]
    mine = statistics.median(pair[0] for pair in pairs)
    plain = statistics.median(pair[1] for pair in pairs)
    ratios = sorted(pair[0] / pair[1] for pair in pairs)
    met = mine / plain >= BAR
    print(f"{name:32s} {mine:7.3f} GB/s, iperf3 {plain:7.3f} GB/s, ratio {mine / plain:.3f} "
          f"(turns {ratios[0]:.3f} to {ratios[-1]:.3f}; bar {BAR}){'' if met else '  MISSED'}",
          flush=True)
    return met


def main():
    met = True
    for streams in (1, 4):
        met &= compare(f"loopback, {streams} stream(s)", lambda: on_loopback(streams),
                       lambda: iperf3([], [], "127.0.0.1", streams))
    if "--loopback" in sys.argv:
        return met
    with GangFleet(2) as fleet:
        fleet.start()
        server, client = fleet.network.inside("g2"), fleet.network.inside("g1")
        address = fleet.network.addresses["g2"]
        for streams in (1, 4):
            met &= compare(f"two namespaces, {streams} stream(s)",
                           lambda: between_nodes(fleet, streams),
                           lambda: iperf3(server, client, address, streams))
    return met


if __name__ == "__main__":
    if not shutil.which("iperf3"):
        print("skipped: there is no program `iperf3`")
        sys.exit(namespaces.SKIPPED)
    if "--loopback" not in sys.argv:
        namespaces.enter()
    sys.exit(0 if main() else 1)
