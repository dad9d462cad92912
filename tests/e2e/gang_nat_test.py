"""Gangs of nodes behind two routers with network address translation, in network namespaces.

Nodes a1 and a2 are behind one router, and b1 is behind another. They all reach the coordinator, but
no connection from outside reaches them. A further network connects a1 and b1, like a VPN.
"""

import os
import shutil
import subprocess
import sys
import unittest

import harness
import namespaces
from harness import Fleet
from namespaces import HOST_ADDRESS

# The address of each node within the network of its router, and in the further network.
ADDRESSES = {"a1": "192.168.0.2", "a2": "192.168.0.3", "b1": "192.168.0.2"}
VPN = {"a1": "10.215.0.1", "b1": "10.215.0.2"}

GANG = """
name: gang
placement: {placement}
{nodes}
benchmarks:
  - tcp_all_reduce: {{ranks: 2, bytes: 64KiB}}
"""
A1_B1 = 'nodes: name in (a1, b1)'


def run(*command):
    subprocess.run(command, capture_output=True, text=True, check=True)


class NatFleet(Fleet):
    """Use after `enter`."""

    def __init__(self):
        super().__init__()
        self.cli_options = ["--insecure"]
        self.agents = {}

    def start(self, *options):
        run("ip", "link", "add", "wan", "type", "bridge")
        run("ip", "addr", "add", f"{HOST_ADDRESS}/24", "dev", "wan")
        run("ip", "link", "set", "wan", "up")
        for name in ADDRESSES:
            run("ip", "netns", "add", name)
        for number, router in ((2, "a"), (3, "b")):
            self.add_router(router, f"10.213.0.{number}")
        run("ip", "link", "add", "vpn", "netns", "a1", "type", "veth",
            "peer", "name", "vpn", "netns", "b1")
        for name, address in VPN.items():
            run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "vpn")
            run("ip", "-n", name, "link", "set", "vpn", "up")
        super().start("--insecure", *options)
        for name in ADDRESSES:
            self.start_agent(name)
        return self

    def new_coordinator(self, name, *options, grpc=f"{HOST_ADDRESS}:0", **more):
        return super().new_coordinator(name, *options, grpc=grpc, **more)

    @staticmethod
    def add_router(router, address):
        run("ip", "netns", "add", router)
        run("ip", "link", "add", f"wan-{router}", "master", "wan", "up", "type", "veth",
            "peer", "name", "wan", "netns", router)
        for command in (f"ip addr add {address}/24 dev wan", "ip link set wan up",
                        "ip link add lan type bridge", "ip addr add 192.168.0.1/24 dev lan",
                        "ip link set lan up", "sysctl -qw net.ipv4.ip_forward=1",
                        "nft add table ip nat",
                        "nft add chain ip nat out { type nat hook postrouting priority 100 ; }",
                        "nft add rule ip nat out oifname wan masquerade"):
            run("ip", "netns", "exec", router, *command.split())
        for name in (name for name in ADDRESSES if name[0] == router):
            run("ip", "-n", router, "link", "add", name, "master", "lan", "up", "type", "veth",
                "peer", "name", "eth0", "netns", name)
            run("ip", "-n", name, "addr", "add", f"{ADDRESSES[name]}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                run("ip", "-n", name, "link", "set", device, "up")
            run("ip", "-n", name, "route", "add", "default", "via", "192.168.0.1")

    def start_agent(self, name, *options):
        if name in self.agents:
            self.agents[name].stop()
        self.agents[name] = self.add(name, [
            *namespaces.Network.inside(name), os.path.join(harness.BUILD, "bin", "assay-agent"),
            "--data", self.path(f"{name}.data"), "--name", name, "--insecure",
            "--runner", harness.RUNNER, "--http", "127.0.0.1:0",
            "--coordinator", self.coordinator.addresses["grpc"], *options], ready=True).start()
        self.await_node(name)

    def address(self):
        return self.coordinator.addresses["grpc"]


class GangNatTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = NatFleet()
        cls.enterClassContext(cls.fleet)
        cls.fleet.start()

    def test_gangs_run_only_where_nodes_reach_each_other(self):
        fleet = self.fleet
        campaign = fleet.submit(GANG.format(placement="any", nodes=""))
        self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 1)
        file = fleet.write_campaign(GANG.format(placement="any", nodes=A1_B1))
        for options in (["--dry-run"], []):
            run = fleet.cli("campaign", "submit", file, *options, code=None)
            self.assertNotEqual(run.returncode, 0)
            for text in ("a1", "10.213.0.2", "b1", "10.213.0.3", "--advertise-address"):
                self.assertIn(text, run.stderr)
        # The two pairs that cannot meet fail before they start; the third runs.
        campaign = fleet.submit(GANG.format(placement="pairs", nodes=""))
        jobs = fleet.await_end(campaign)["jobs"]
        self.assertEqual((jobs["succeeded"], jobs["failed"]), (1, 2))
        reasons = {job["failure"]["reason"] for job in fleet.jobs(campaign) if "failure" in job}
        self.assertEqual(reasons, {"REASON_NO_SHARED_NETWORK"})
        for name, address in VPN.items():
            fleet.start_agent(name, "--advertise-address", address)
        campaign = fleet.submit(GANG.format(placement="any", nodes=A1_B1))
        self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 1)


if __name__ == "__main__":
    if shutil.which("nft", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        print("skipped: there is no program `nft` (Debian's package nftables)")
        sys.exit(namespaces.SKIPPED)
    namespaces.enter()
    unittest.main(verbosity=2)
