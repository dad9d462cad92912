"""Simulated nodes on one machine: each is a network namespace, and a bridge connects them.

The test itself runs in a private network and mount namespace (`enter`). Changes to links or to /run
stay inside, and the kernel removes them when the last process ends. Root is not needed if users may
create namespaces.
"""

import contextlib
import os
import shutil
import subprocess
import sys

# The exit code that ctest shows as "skipped" (SKIP_RETURN_CODE).
SKIPPED = 77
HOST_ADDRESS = "10.213.0.1"
# Where the nodes behind a Nat reach the test's own namespace, and where a proxy may listen.
PUBLIC_ADDRESS = "198.51.100.1"
PROXY_ADDRESS = "198.51.100.3"
_INSIDE = "ASSAY_TEST_INSIDE_NAMESPACES"
_BRIDGE = "assay0"
_GANG_BRIDGE = "assay1"


def enter():
    """Starts this program again inside private namespaces and returns there. Exits with 77 if they
    are not allowed."""
    if os.environ.get(_INSIDE):
        # Hides all of /run, because `ip netns` keeps its names there.
        _run("mount", "-t", "tmpfs", "tmpfs", "/run")
        _run("ip", "link", "set", "lo", "up")
        return
    for program in ("ip", "unshare", "mount"):
        if not shutil.which(program):
            skip(f"there is no program `{program}`")
    unshare = ["unshare", "--net", "--mount"]
    if os.geteuid() != 0:
        unshare += ["--user", "--map-current-user", "--keep-caps"]
    probe = ("mount -t tmpfs tmpfs /run && ip link add v0 type bridge && ip netns add probe && "
             "ip netns exec probe true")
    tried = subprocess.run([*unshare, "sh", "-c", probe], capture_output=True, text=True,
                           check=False)
    if tried.returncode:
        skip(f"network namespaces are not allowed here: {tried.stderr.strip()}")
    os.environ[_INSIDE] = "1"
    os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])


def skip(reason):
    """Ends the program so that ctest counts it as skipped."""
    print(f"skipped: {reason}", flush=True)
    sys.exit(SKIPPED)


def _run(*command):
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise AssertionError(f"{' '.join(command)}: {run.stderr.strip()}")


def _gang_cable(name):
    return f"{name}-g"


class Network:
    """A namespace for each of `names` (at most 12 characters), reached from HOST_ADDRESS.

    With `gang_links` the nodes also have a separate network for `gang_addresses`.
    """

    def __init__(self, names, gang_links=False):
        self.addresses = {}
        self.gang_addresses = {}
        _run("ip", "link", "add", _BRIDGE, "type", "bridge")
        _run("ip", "addr", "add", f"{HOST_ADDRESS}/24", "dev", _BRIDGE)
        _run("ip", "link", "set", _BRIDGE, "up")
        if gang_links:
            _run("ip", "link", "add", _GANG_BRIDGE, "up", "type", "bridge")
        for number, name in enumerate(names, 11):
            _run("ip", "netns", "add", name)
            _run("ip", "-n", name, "link", "set", "lo", "up")
            self.addresses[name] = f"10.213.0.{number}"
            self._link(name, name, _BRIDGE, "eth0", self.addresses[name])
            if gang_links:
                self.gang_addresses[name] = f"10.214.0.{number}"
                self._link(name, _gang_cable(name), _GANG_BRIDGE, "eth1", self.gang_addresses[name])
        self._inodes = {os.stat(f"/run/netns/{name}").st_ino: name for name in names}

    @staticmethod
    def _link(name, cable, bridge, device, address):
        _run("ip", "link", "add", cable, "type", "veth", "peer", "name", device, "netns", name)
        _run("ip", "link", "set", cable, "master", bridge, "up")
        _run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", device)
        _run("ip", "-n", name, "link", "set", device, "up")

    @staticmethod
    def inside(name):
        """Returns the prefix for a command that runs it in the namespace `name`, as the same
        process."""
        return ["ip", "netns", "exec", name]

    def plug(self, name, connected):
        """Connects or disconnects all cables of `name`."""
        _run("ip", "link", "set", name, "up" if connected else "down")
        if name in self.gang_addresses:
            self.plug_gang_link(name, connected)

    @staticmethod
    def plug_gang_link(name, connected):
        """Connects or disconnects only the cable to the other nodes."""
        _run("ip", "link", "set", _gang_cable(name), "up" if connected else "down")

    def part(self, one, other, connected):
        """Connects or separates two nodes in the network of gang_addresses. If separated, packets
        between them are dropped."""
        for sender, receiver in ((one, other), (other, one)):
            neighbour = (self.gang_addresses[receiver], "dev", "eth1")
            if connected:
                _run("ip", "-n", sender, "neigh", "del", *neighbour)
            else:
                _run("ip", "-n", sender, "neigh", "replace", *neighbour, "lladdr",
                     "02:00:00:00:00:99", "nud", "permanent")

    def connections(self, pid, name):
        """Returns the number of TCP connections from the namespace of a process to the gang address
        of `name`."""
        established = "01"
        address = bytes(map(int, self.gang_addresses[name].split(".")))[::-1].hex().upper()
        with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
            rows = [line.split() for line in list(file)[1:]]
        return sum(row[2].startswith(f"{address}:") and row[3] == established for row in rows)

    def processes(self):
        """Returns process ids by namespace."""
        found = {name: set() for name in self.addresses}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            with contextlib.suppress(OSError):
                name = self._inodes.get(os.stat(f"/proc/{entry}/ns/net").st_ino)
                if name:
                    found[name].add(int(entry))
        return found


class Nat:
    """A namespace for each of `names` (at most 12 characters) behind a router with network address
    translation: the nodes reach PUBLIC_ADDRESS, all from the one address of the router, and no
    connection reaches them. Those of `proxied` reach PROXY_ADDRESS alone."""

    ROUTER_ADDRESS = "198.51.100.2"
    _INNER = "192.168.77"

    def __init__(self, names, proxied=()):
        _run("ip", "netns", "add", "router")
        _run("ip", "link", "add", "internet", "type", "veth", "peer", "name", "wan", "netns",
             "router")
        for address in (PUBLIC_ADDRESS, PROXY_ADDRESS):
            _run("ip", "addr", "add", f"{address}/24", "dev", "internet")
        _run("ip", "link", "set", "internet", "up")
        self._in_router("ip", "addr", "add", f"{self.ROUTER_ADDRESS}/24", "dev", "wan")
        self._in_router("ip", "link", "set", "wan", "up")
        self._in_router("ip", "link", "add", "lan", "type", "bridge")
        self._in_router("ip", "addr", "add", f"{self._INNER}.1/24", "dev", "lan")
        self._in_router("ip", "link", "set", "lan", "up")
        self._in_router("sysctl", "-qw", "net.ipv4.ip_forward=1")
        self._in_router("nft", "add table ip nat; "
                               "add chain ip nat out { type nat hook postrouting priority 100; }; "
                               "add rule ip nat out oifname wan masquerade")
        for number, name in enumerate(names, 11):
            _run("ip", "netns", "add", name)
            _run("ip", "-n", name, "link", "set", "lo", "up")
            cable = f"node{number}"
            self._in_router("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0",
                            "netns", name)
            self._in_router("ip", "link", "set", cable, "master", "lan", "up")
            _run("ip", "-n", name, "addr", "add", f"{self._INNER}.{number}/24", "dev", "eth0")
            _run("ip", "-n", name, "link", "set", "eth0", "up")
            reached = PROXY_ADDRESS if name in proxied else "default"
            _run("ip", "-n", name, "route", "add", reached, "via", f"{self._INNER}.1")

    @staticmethod
    def _in_router(*command):
        _run("ip", "netns", "exec", "router", *command)
