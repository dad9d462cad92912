"""Plants a bad node and a bad link between agents in network namespaces, and expects both to be
named.

The kernel's traffic control gives every node the same rate, and the planted ones a lower rate.
"""

import json
import subprocess
import sys
import unittest

import namespaces
from gang_fleet import GangFleet

CAMPAIGN = """
name: {name}
placement: pairs
benchmarks:
  - tcp_bandwidth: {{streams: {streams}, bytes: 2MiB}}
"""
RATE = "320mbit"
BAD_RATE = "160mbit"
# The buffer of the shaper: 25 ms at RATE. It lets the shaper catch up after the host's CPUs were
# busy. With the default of a few packets that time would be lost and the values of pairs would
# scatter. It is smaller than a message, so the untimed message before each transfer uses up what an
# idle link has saved.
BURST = "1mb"


def tc(name, *arguments, inside=False):
    place = namespaces.Network.inside(name) if inside else []
    subprocess.run([*place, "tc", *arguments], capture_output=True, text=True, check=True)


def limit(rate):
    return ["htb", "rate", rate, "burst", BURST, "cburst", BURST, "quantum", "60000"]


def shape(fleet):
    """Limits sending and receiving of every node to RATE, and the traffic of the filters to
    BAD_RATE."""
    for name in fleet.names:
        # Some hosts use BBR by default. It paces by the rate that it has seen, so it does not catch
        # up after a delay and takes a delay for a slow path.
        subprocess.run([*namespaces.Network.inside(name), "sh", "-c",
                        "echo reno > /proc/sys/net/ipv4/tcp_congestion_control"],
                       capture_output=True, text=True, check=True)
        for device, inside in (("eth0", True), (name, False)):
            tc(name, "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1",
               inside=inside)
            for number, rate in (("1", RATE), ("2", BAD_RATE)):
                tc(name, "class", "add", "dev", device, "parent", "1:", "classid", f"1:{number}",
                   *limit(rate), inside=inside)


def set_node_rate(name, rate):
    for device, inside in (("eth0", True), (name, False)):
        tc(name, "class", "change", "dev", device, "parent", "1:", "classid", "1:1", *limit(rate),
           inside=inside)


def slow_link(fleet, sender, receiver):
    tc(sender, "filter", "add", "dev", "eth0", "parent", "1:", "protocol", "ip", "u32", "match",
       "ip", "dst", fleet.network.addresses[receiver], "flowid", "1:2", inside=True)


class PairsTest(unittest.TestCase):
    def measure(self, fleet, name, streams=1):
        campaign = fleet.submit(CAMPAIGN.format(name=name, streams=streams))
        ended = fleet.await_end(campaign, 120)
        self.assertEqual(ended["jobs"]["succeeded"], 6, ended)
        return campaign

    def report(self, fleet, campaign):
        return json.loads(fleet.cli("pairs", campaign, "-o", "json", code=1).stdout)

    def test_a_bad_node_and_a_bad_link_are_named(self):
        with GangFleet(4) as fleet:
            fleet.start()
            shape(fleet)
            set_node_rate("g3", BAD_RATE)
            self.measure(fleet, "bad-node")
            case, = self.report(fleet, "bad-node")["cases"]
            node, = case["bad_nodes"]
            self.assertEqual((node["node"], node["bad_links"], node["links"]), ("g3", 3, 3))
            self.assertAlmostEqual(node["deficit"], 0.5, delta=0.06)

            set_node_rate("g3", RATE)
            slow_link(fleet, "g1", "g4")
            self.measure(fleet, "bad-link", streams=4)
            report = self.report(fleet, "bad-link")
            self.assertEqual(report["verdict"], "bad")
            self.assertEqual(report["suspects"][0]["nodes"], ["g1", "g4"])
            case, = report["cases"]
            self.assertEqual(case["bad_nodes"], [])
            link, = case["bad_links"]
            self.assertEqual((link["from"], link["to"]), ("g1", "g4"))
            self.assertAlmostEqual(link["deficit"], 0.5, delta=0.06)
            self.assertEqual(len(case["pairs"]), 6)
            csv = fleet.cli("pairs", "bad-link", "-o", "csv", code=1).stdout
            self.assertEqual(len(csv.splitlines()), 7)
            # Counts that are zero on most pairs are valid measurements.
            counts = fleet.cli("pairs", "bad-link", "--metric", "retransmits", "-o", "json",
                               code=None)
            case, = json.loads(counts.stdout)["cases"]
            self.assertEqual((len(case["pairs"]), case["missing"]), (6, []))
            unknown = fleet.cli("pairs", "bad-link", "--metric", "goodput", code=2)
            self.assertNotEqual(unknown.stderr, "")


if __name__ == "__main__":
    namespaces.enter()
    probe = subprocess.run("ip link add t0 type veth peer name t1 && tc qdisc add dev t0 root htb && "
                           "ip link del t0", shell=True, capture_output=True, text=True,
                           check=False)
    if probe.returncode:
        print(f"skipped: this kernel's traffic control has no htb: {probe.stderr.strip()}")
        sys.exit(namespaces.SKIPPED)
    unittest.main()
