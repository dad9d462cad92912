"""A fleet of agents in separate network namespaces. Its gangs can be held in any phase."""

import contextlib
import glob
import os
import re
import signal

import harness
from harness import Fleet, eventually
from namespaces import HOST_ADDRESS, Network

# Waits at the gate, if there is one, and then becomes the runner in the same process.
GATED_RUNNER = """#!/bin/sh
if [ "$1" = serve ] && [ -p {gate} ]; then
  echo $$ > {held}
  read -r _ < {gate}
fi
exec {runner} "$@"
"""


class Gate:
    """Holds the next runner that a node starts. The gate is a pipe, so nothing has to poll."""

    def __init__(self, fleet, name):
        self._gate, self._held = fleet.path(f"{name}.gate"), fleet.path(f"{name}.held")
        self.runner = fleet.path(f"{name}.runner")
        with open(self.runner, "w", encoding="ascii") as script:
            script.write(GATED_RUNNER.format(gate=self._gate, held=self._held,
                                             runner=harness.RUNNER))
        os.chmod(self.runner, 0o755)

    def close(self):
        self.open()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._held)
        os.mkfifo(self._gate)

    def open(self):
        passed = f"{self._gate}.open"
        with contextlib.suppress(FileNotFoundError):
            os.rename(self._gate, passed)
            # Opening fails if no runner waits.
            with contextlib.suppress(OSError):
                os.close(os.open(passed, os.O_WRONLY | os.O_NONBLOCK))
            os.unlink(passed)

    def held(self):
        """Returns the id of the process that waits, or 0."""
        with contextlib.suppress(FileNotFoundError):
            with open(self._held, encoding="ascii") as file:
                return int(file.read().strip() or 0)
        return 0


class GangFleet(Fleet):
    """A coordinator at HOST_ADDRESS with `count` agents named g1, g2 and so on. Use after `enter`.

    With `gang_links` the ranks use a separate network.
    """

    def __init__(self, count, gang_links=False):
        super().__init__()
        self._gang_links = gang_links
        self.names = [f"g{number}" for number in range(1, count + 1)]
        self.cli_options = ["--insecure"]
        self.network = None
        self.agents, self.gates = {}, {}
        self._marks = {}
        self._footprints = {}

    def start(self, *options):
        self.network = Network(self.names, self._gang_links)
        super().start("--log-level", "debug", *options)
        for name in self.names:
            self.gates[name] = Gate(self, name)
            self.start_agent(name)
        for name in self.names:
            self.await_node(name)
        return self

    def new_coordinator(self, name, *options, grpc=f"{HOST_ADDRESS}:0", **more):
        return super().new_coordinator(name, "--insecure", *options, grpc=grpc, **more)

    def start_agent(self, name):
        """Starts the node's agent. If the node had one before, this is like a restart after a
        crash."""
        own = self.network.addresses[name]
        self.agents[name] = self.add(name, [
            *self.network.inside(name), os.path.join(harness.BUILD, "bin", "assay-agent"),
            "--data", self.path(f"{name}.data"), "--name", name, "--insecure",
            "--runner", self.gates[name].runner, "--log-level", "debug",
            "--coordinator", self.coordinator.addresses["grpc"],
            "--listen", f"{own}:0", "--http", "127.0.0.1:0",
            "--advertise-address", self.network.gang_addresses.get(name, own)], ready=True).start()

    def repair(self):
        """Restores everything that a test may have broken."""
        for name in self.names:
            self.network.plug(name, True)
            self.gates[name].open()
        for pids in self.network.processes().values():
            for pid in pids:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGCONT)
        if not self.coordinator.running():
            self.restart_coordinator("--log-level", "debug")
        for name in self.names:
            if not self.agents[name].running():
                self.start_agent(name)
        for name in self.names:
            # After several failed attempts an agent waits up to a minute before it dials again.
            self.await_node(name, seconds=90)
        # The trials harm the same nodes again and again, and each needs all of them.
        self.postgres.rows("UPDATE node SET quarantine = NULL, failed_job_ids = '{}',"
                           " failed_campaign_ids = '{}'")

    def mark_logs(self):
        """Sets the position in the logs from which `said` searches."""
        self._marks = {path: os.path.getsize(path) for path in glob.glob(self.path("*.log"))}

    def said(self, pattern, *names):
        """Returns the first match in the logs of these agents since the mark, or None."""
        return self._search(pattern, [self.path(f"{name}.log") for name in names])

    def coordinator_said(self, pattern):
        return self._search(pattern, sorted(glob.glob(self.path("coordinator*.log"))))

    def _search(self, pattern, paths):
        for path in paths:
            with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8",
                                                              errors="replace") as file:
                file.seek(self._marks.get(path, 0))
                match = re.search(pattern, file.read(), re.DOTALL)
                if match:
                    return match
        return None

    def runners(self):
        """Returns the processes in the namespaces that are not agents, as (node, process id)."""
        agents = {agent.pid for agent in self.agents.values()}
        return [(name, pid) for name, pids in self.network.processes().items()
                for pid in pids if pid not in agents]

    def spooled(self):
        """Returns the files of results that no coordinator has acknowledged."""
        return [path for name in self.names for path in self.spool(f"{name}.data")]

    def expect_no_growth(self, kibibytes=32768):
        """Expects that no process has grown since the first call that saw it."""
        for process in (self.coordinator, *self.agents.values()):
            first = self._footprints.setdefault(process.pid, self._footprint(process))

            def returned(first=first, process=process):
                now = self._footprint(process)
                return now[0] <= first[0] and now[1] <= first[1] + kibibytes
            try:
                eventually(returned, 30)
            except AssertionError as error:
                raise AssertionError(
                    f"{process.name} had {first[0]} descriptors and {first[1]} KiB, and now "
                    f"{self._footprint(process)}: {_open_files(process.pid)}") from error

    def _footprint(self, process):
        """Returns the number of open descriptors and the resident memory in KiB.

        Connections to the database are not counted: the coordinator's pool opens a new one when all
        others are busy and keeps it, which is not a leak. Each has two descriptors, one of them
        for the thread that ends calls.
        """
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            resident = int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))
        connections = 0
        if process is self.coordinator:
            connections = int(self.postgres.value(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = 'assay' "
                "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"))
        return len(os.listdir(f"/proc/{process.pid}/fd")) - 2 * connections, resident


def _open_files(pid):
    files = []
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            files.append(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
    return sorted(files)
