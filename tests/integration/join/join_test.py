"""Machines behind NAT join a fleet by the line that `assay node invite` prints.

    join_test.py            machines with this one's own system
    join_test.py --systems  bare Debian 12, Ubuntu 22.04 and 24.04 with the archives of this build
                            (label slow)

Prints the seconds of each step and asserts none. Of the three machines behind one address, one has
only wget and an unprivileged user, one reaches nothing but an HTTP proxy, and the agent of one runs
detached.
"""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "e2e"))

import harness  # noqa: E402
import namespaces  # noqa: E402
from connect_proxy import ConnectProxy  # noqa: E402
from harness import eventually  # noqa: E402
from joined_fleet import NOBODY, JoinedFleet, make_node_archive  # noqa: E402
from machine import Machine  # noqa: E402

# Which system and which further package a machine has, with --systems.
SYSTEMS = {"plain": ("noble", "wget"), "proxied": ("jammy", "curl"),
           "detached": ("bookworm", "curl")}
BARE = "--systems" in sys.argv
FIRST = """
name: first-{name}
nodes: name = {name}
benchmarks:
  - cpu_gemm: {{m: 128}}
"""


class PublicFleet(JoinedFleet):
    host = namespaces.PUBLIC_ADDRESS


def make_systems(folder):
    """Returns the folder of each machine's system, except those whose packages are unreachable."""
    systems = {}
    for name, (suite, package) in SYSTEMS.items():
        run = subprocess.run(
            [os.path.join(HERE, "..", "install", "bare_system.sh"), suite,
             os.environ.get("ASSAY_BARE_ROOTS", folder), package],
            stdout=subprocess.PIPE, text=True, check=False)
        if run.returncode == 0:
            systems[name] = run.stdout.strip()
        elif run.returncode != namespaces.SKIPPED:
            sys.exit(f"{suite} cannot be made")
    return systems


def bundle(folder):
    """Makes a node's archive for every system and returns its path."""
    subprocess.run([os.path.join(harness.ROOT, "tools", "bundle.sh"), "dev", "--fast"], check=True,
                   env={**os.environ, "ASSAY_BUILD": harness.BUILD, "ASSAY_DIST": folder})
    return glob.glob(os.path.join(folder, "assay-node-*.deb"))[0]


class JoinTest(unittest.TestCase):
    archive = ""  # Of this build's programs, for the systems; empty: for this one's own.
    systems = {name: "/" for name in SYSTEMS}

    @classmethod
    def setUpClass(cls):
        cls.network = namespaces.Nat(["plain", "proxied", "detached"], proxied=["proxied"])
        cls.proxy = ConnectProxy(namespaces.PROXY_ADDRESS)
        cls.fleet = PublicFleet().__enter__()
        cls.addClassCleanup(lambda: cls.fleet.__exit__(None, None, None))
        cls.fleet.start(archive=cls.archive or make_node_archive(cls.fleet.folder))

    def machine(self, name, **more):
        if name not in self.systems:
            self.skipTest(f"the packages of {SYSTEMS[name][0]} are unreachable")
        return Machine(self.fleet, name, namespaces.Network.inside(name), self.systems[name],
                       **more)

    def join(self, machine, command="command", more=""):
        """Pastes the printed line and waits for the first result. Returns the shell."""
        name, began, steps = machine.name, time.monotonic(), []

        def note(step):
            steps.append(f"{step} {time.monotonic() - began:.1f} s")
        shell = machine.paste(self.fleet.invite("--name", name)[command] + more)

        def check_line():
            if not shell.running() and shell.process.returncode:
                raise AssertionError(f"{name}: the line ended with {shell.process.returncode}\n"
                                     f"{shell.tail()}")

        def enrolled():
            check_line()
            return self.fleet.identity(name)

        def attached():
            check_line()
            return any(name == node["description"]["name"]
                       and node["state"] == "NODE_STATE_CONNECTED" for node in self.fleet.nodes())
        eventually(enrolled, 120, f"the identity of {name}", 0.1)
        note("enrolled after")
        eventually(attached, 120, f"the node {name}", 0.1)
        note("attached after")
        self.assertTrue(shell.said("self-test: passed"), shell.tail())
        campaign = self.fleet.submit(FIRST.format(name=name))
        shown = self.fleet.await_end(campaign, 120)
        self.assertEqual(shown["jobs"]["succeeded"], 1, shown)
        note("first result after")
        print(f"{name}: {', '.join(steps)}", flush=True)
        return shell

    def test_an_unprivileged_user_joins_with_wget(self):
        machine = self.machine("plain", user=NOBODY)
        shell = self.join(machine, "wget_command")
        self.assertTrue(shell.running(), "without --detach the line stays in the foreground")

    def test_a_machine_joins_through_a_proxy(self):
        machine = self.machine("proxied", environment={"https_proxy": self.proxy.url})
        self.join(machine)
        for address in (self.fleet.join_address, self.fleet.grpc_address):
            self.assertIn(address, self.proxy.tunnels)

    def test_a_detached_agent_is_started_again(self):
        machine = self.machine("detached")
        shell = self.join(machine, more=" --detach")
        eventually(lambda: not shell.running(), 30, "the shell's prompt")
        self.assertEqual(shell.process.returncode, 0)
        pids = machine.pids("assay-agent")
        instance = self.instance("detached")
        # The supervisor is the agent's parent.
        supervisor, agent = sorted(pids)
        machine.run(f"kill -KILL {agent}")
        eventually(lambda: self.instance("detached") not in (instance, ""), 90, "another agent")
        self.assertIn(supervisor, machine.pids("assay-agent"))
        campaign = self.fleet.submit(FIRST.format(name="detached"))
        self.assertEqual(self.fleet.await_end(campaign, 120)["jobs"]["succeeded"], 1)
        machine.run(f"kill -TERM {supervisor}")
        eventually(lambda: not machine.pids("assay-agent"), 30, "the end of both")

    def instance(self, name):
        """Returns the id of the agent's process, or "" while the node is not connected."""
        node = self.fleet.node(name)
        connected = node["state"] == "NODE_STATE_CONNECTED"
        return node["description"]["agent_instance_id"] if connected else ""


def main():
    arguments = [argument for argument in sys.argv if argument != "--systems"]
    given = os.environ.get("ASSAY_TEST_SYSTEMS")
    if os.geteuid() != 0:
        namespaces.skip("machines with users of their own need root")
    if BARE and not given:
        # The packages are reached from outside of the namespaces alone.
        if not shutil.which("debootstrap"):
            namespaces.skip("debootstrap is not installed")
        with tempfile.TemporaryDirectory(prefix="assay-systems-") as made:
            systems, archive = make_systems(made), bundle(os.path.join(made, "dist"))
            if not systems:
                namespaces.skip("no archive could be reached")
            sys.exit(subprocess.run([sys.executable, *sys.argv], check=False, env={
                **os.environ, "ASSAY_TEST_SYSTEMS": json.dumps([systems, archive])}).returncode)
    if given:
        JoinTest.systems, JoinTest.archive = json.loads(given)
    if not shutil.which("nft", path="/usr/sbin:/usr/bin"):
        namespaces.skip("nftables is not installed")
    namespaces.enter()
    unittest.main(verbosity=2, argv=arguments)


if __name__ == "__main__":
    main()
