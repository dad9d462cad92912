"""Executes the scripts of deploy/slurm and deploy/kubernetes, and the command lines of
deploy/systemd: a real coordinator with an authority of its own, real agents and the CLI. Slurm's and
Kubernetes' programs are fakes, which run each node's part in a folder of its own."""

import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
from harness import BUILD, FAKE_RUNNER, Fleet, FleetCase, eventually  # noqa: E402

DEPLOY = os.path.join(ROOT, "deploy")
SLURM = os.path.join(DEPLOY, "slurm", "assay-agents.sh")
AGENT_ENTRY = os.path.join(DEPLOY, "kubernetes", "agent.sh")
INVITE_NODES = os.path.join(DEPLOY, "kubernetes", "invite-nodes.sh")
PROGRAMS = os.path.join(BUILD, "bin")

# Runs the command once per node, each with a folder for temporary files. Like Slurm's, kills the
# tasks on SIGTERM; scancel is the way to end them.
SRUN = """#!/usr/bin/env python3
import os, signal, subprocess, sys
command = sys.argv[1:]
while command[0].startswith("--"):
    command.pop(0)
tasks = []
signal.signal(signal.SIGTERM, lambda *_: [task.kill() for task in tasks])
signal.signal(signal.SIGUSR1, lambda *_: [task.terminate() for task in tasks])
for host in os.environ["SLURM_JOB_NODELIST"].split(","):
    folder = os.path.join(os.environ["FAKE_NODES"], host)
    os.makedirs(folder, exist_ok=True)
    tasks.append(subprocess.Popen(command, start_new_session=True, env={
        **os.environ, "SLURMD_NODENAME": host, "SLURM_TMPDIR": folder}))
with open(os.environ["FAKE_STEP"], "w", encoding="ascii") as file:
    file.write(str(os.getpid()))
sys.exit(max(abs(task.wait()) for task in tasks))
"""
SCANCEL = """#!/bin/sh
[ "$*" = "--signal=TERM 77.0" ] && kill -USR1 "$(cat "$FAKE_STEP")"
"""
SCONTROL = """#!/bin/sh
[ "$1 $2" = "show hostnames" ] && printf '%s\\n' "$3" | tr , '\\n'
"""
# Runs commands of a pod with its data folder. Pod assay-agent-NAME is on node NAME.
KUBECTL = """#!/usr/bin/env python3
import os, sys
nodes = os.environ["FAKE_NODES"]
arguments = sys.argv[1:]
assert arguments[:2] == ["--namespace", "assay"], arguments
if arguments[2:4] == ["get", "pods"]:
    for node in sorted(os.listdir(nodes)):
        print(f"assay-agent-{node} {node}")
    sys.exit()
assert arguments[2:4] == ["exec", "-i"] and arguments[5] == "--", arguments
os.environ["ASSAY_DATA"] = os.path.join(nodes, arguments[4].removeprefix("assay-agent-"))
os.execvp(arguments[6], arguments[6:])
"""


class JoiningCase(FleetCase):
    def setUp(self):
        self.fleet = self.open(Fleet())
        self.fleet.postgres.start()
        self.fakes = self.fleet.path("fakes")
        self.nodes = self.fleet.path("nodes")
        os.mkdir(self.fakes)
        os.mkdir(self.nodes)
        self.environment = {
            **os.environ, "HOME": self.fleet.path("home"), "FAKE_NODES": self.nodes,
            "XDG_CONFIG_HOME": self.fleet.path("home", ".config"),
            "PATH": f"{self.fakes}:{PROGRAMS}:{os.environ['PATH']}"}
        os.mkdir(self.environment["HOME"])
        for name in [name for name in self.environment if name.startswith("ASSAY_")]:
            del self.environment[name]
        self.start_coordinator("--ca", self.fleet.path("ca"))

    def start_coordinator(self, *options):
        self.fleet.coordinator = self.fleet.new_coordinator(
            "coordinator", *options, "--join", "127.0.0.1:0", "--node-archive",
            self.archive()).start()
        self.login()

    def archive(self):
        """Returns a package whose programs are links to those of the build."""
        folder = self.fleet.path("package")
        os.makedirs(os.path.join(folder, "DEBIAN"))
        os.makedirs(os.path.join(folder, "opt", "assay", "bin"))
        with open(os.path.join(folder, "DEBIAN", "control"), "w", encoding="utf-8") as file:
            file.write("Package: assay-node\nVersion: 1\nArchitecture: amd64\n"
                       "Maintainer: Assay <assay@example.org>\nDescription: test\n")
        for program in ("assay-agent", "assay-runner"):
            os.symlink(os.path.join(PROGRAMS, program),
                       os.path.join(folder, "opt", "assay", "bin", program))
        subprocess.run(["dpkg-deb", "-Zgzip", "--root-owner-group", "-b", folder,
                        self.fleet.path("assay-node.deb")], check=True, capture_output=True)
        return self.fleet.path("assay-node.deb")

    def login(self):
        """Makes the first admin by the authority's folder, as SECURITY.md lets its owner."""
        address = self.fleet.coordinator.addresses
        invite = self.run_program(
            os.path.join(PROGRAMS, "assay-coordinator"), "--ca", self.fleet.path("ca"),
            "--listen", address["grpc"], "--advertise-join", address["join"].split("//")[1],
            "invite", "--role", "admin", "--name", "ann", "-o", "json",
            ASSAY_DATABASE=self.fleet.postgres.conninfo)
        self.run_program(*shlex.split(json.loads(invite)["command"]))

    def run_program(self, *command, code=0, **environment):
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                             env={**self.environment, **environment})
        self.assertEqual(run.returncode, code, f"{command}\n{run.stdout}\n{run.stderr}")
        return run.stdout

    def assay(self, *arguments, **options):
        return self.run_program("assay", *arguments, **options)

    def listed(self):
        """Returns the fleet's nodes by name."""
        nodes = json.loads(self.assay("node", "list", "-o", "json"))
        return {node["description"]["name"]: node for node in nodes}

    def connected(self):
        return sorted(name for name, node in self.listed().items()
                      if node["state"] == "NODE_STATE_CONNECTED")

    def fake(self, name, text):
        path = os.path.join(self.fakes, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, stat.S_IRWXU)

    def process(self, name, *command, **environment):
        process = self.fleet.add(name, list(command), env={**self.environment, **environment})
        return process.start()


class SlurmTest(JoiningCase):
    def setUp(self):
        super().setUp()
        self.fake("srun", SRUN)
        self.fake("scontrol", SCONTROL)
        self.fake("scancel", SCANCEL)
        self.environment["FAKE_STEP"] = self.fleet.path("step")

    def allocation(self, *command, **environment):
        return self.process(
            "slurm", SLURM, *command, SLURM_JOB_ID="77", SLURM_JOB_NODELIST="n1,n2",
            ASSAY_HOME=self.fleet.path("programs"), ASSAY_OPTIONS=f"--runner {FAKE_RUNNER}",
            **environment)

    def left(self):
        return [name for _, folders, files in os.walk(self.nodes) for name in folders + files
                if name not in ("n1", "n2")]

    def test_command_runs_when_all_nodes_have_joined(self):
        job = self.allocation("sh", "-c", f"assay node list -o json >{self.fleet.path('seen')}; "
                                          "exit 5")
        self.assertEqual(eventually_ended(job), 5)
        with open(self.fleet.path("seen"), encoding="utf-8") as file:
            seen = {node["description"]["name"]: node for node in json.load(file)}
        self.assertEqual(sorted(seen), ["n1-77", "n2-77"])
        for node in seen.values():
            self.assertEqual(node["state"], "NODE_STATE_CONNECTED")
            self.assertEqual(node["description"]["labels"], {"slurm_job": "77"})
        self.assertEqual(self.connected(), [])
        for node in self.listed().values():
            self.assertIn("end of Slurm job 77", json.dumps(node))
        self.assertEqual(self.left(), [])

    def test_time_limit_drains_the_nodes(self):
        job = self.allocation()
        eventually(lambda: self.connected() == ["n1-77", "n2-77"], 60, "two nodes")
        eventually(lambda: job.said("joined: n"), 30, "the script's start")
        job.send_signal(signal.SIGTERM)
        self.assertEqual(eventually_ended(job), 0)
        self.assertEqual(self.connected(), [])
        self.assertEqual(job.said("is empty"), 2)
        self.assertEqual(self.left(), [])

    def test_without_a_context_nothing_starts(self):
        os.rename(self.fleet.path("home"), self.fleet.path("elsewhere"))
        job = self.allocation()
        self.assertNotIn(eventually_ended(job), (0, None))
        self.assertEqual(os.listdir(self.nodes), [])


class KubernetesTest(JoiningCase):
    def setUp(self):
        super().setUp()
        self.fake("kubectl", KUBECTL)

    def pod(self, node, number=1):
        """Starts the agent's container of a node."""
        data = os.path.join(self.nodes, node)
        os.makedirs(data, exist_ok=True)
        return self.process(f"{node}-{number}", AGENT_ENTRY, "--http", "", "--runner", FAKE_RUNNER,
                            ASSAY_DATA=data)

    def test_each_node_gets_an_invite_of_its_own(self):
        pods = [self.pod("gpu-1"), self.pod("gpu-2")]
        for pod in pods:
            eventually(lambda pod=pod: pod.said("has no identity yet"), 30, "the wait")
        invited = self.run_program(INVITE_NODES, "--label", "pool=a")
        self.assertEqual(invited, "gpu-1: invited\ngpu-2: invited\n")
        eventually(lambda: self.connected() == ["gpu-1", "gpu-2"], 60, "two nodes")
        first = self.listed()["gpu-1"]
        self.assertEqual(first["description"]["labels"], {"pool": "a"})

        # A pod that is replaced is the same node and needs no invite.
        self.assertEqual(pods[0].stop(), 0)
        eventually(lambda: self.connected() == ["gpu-2"], 60, "the loss")
        self.pod("gpu-1", 2)
        eventually(lambda: self.connected() == ["gpu-1", "gpu-2"], 60, "the return")
        self.assertEqual(self.listed()["gpu-1"]["description"]["node_id"],
                         first["description"]["node_id"])
        self.assertEqual(self.run_program(INVITE_NODES), "")

    def test_bad_invite_ends_the_container_once(self):
        pod = self.pod("gpu-1")
        eventually(lambda: pod.said("has no identity yet"), 30, "the wait")
        self.assertEqual(self.run_program(INVITE_NODES), "gpu-1: invited\n")
        eventually(lambda: self.connected() == ["gpu-1"], 60, "the node")
        self.assertEqual(pod.stop(), 0)
        self.assertEqual(os.listdir(os.path.join(self.nodes, "gpu-1")).count("invite"), 0)

        os.makedirs(os.path.join(self.nodes, "gpu-2"))
        with open(os.path.join(self.nodes, "gpu-2", "invite"), "w", encoding="utf-8") as file:
            join = self.fleet.coordinator.addresses["join"]
            file.write(f"{join} AAAA assay1.no.token\n")
        self.assertEqual(eventually_ended(self.pod("gpu-2")), 2)
        waiting = self.pod("gpu-2", 2)
        eventually(lambda: waiting.said("has no identity yet"), 30, "the wait")
        self.assertEqual(waiting.stop(), 143)


class SystemdTest(JoiningCase):
    def start_coordinator(self, *options):
        """Uses the command line of the unit, with an environment file as the guide shows it."""
        state = self.fleet.path("state")
        os.mkdir(state, 0o700)
        os.symlink(os.path.join(state, "ca"), self.fleet.path("ca"))
        command = self.command_line("assay-coordinator", state)
        super().start_coordinator(*command[1:])

    def command_line(self, unit, state, options=()):
        with open(os.path.join(DEPLOY, "systemd", f"{unit}.service"), encoding="utf-8") as file:
            (line,) = re.findall(r"^ExecStart=(.*)$", file.read(), re.MULTILINE)
        line = line.replace("/opt/assay/bin", PROGRAMS).replace("${STATE_DIRECTORY}", state)
        return [word for part in line.split()
                for word in (options if part == "$OPTIONS" else [part])]

    def test_unit_goes_on_with_the_identity(self):
        data = self.fleet.path("agent")
        invite = json.loads(self.assay("node", "invite", "--name", "g1", "-o", "json"))
        fetch, token = invite["command"].split(" | sh -s -- ")
        script = self.fleet.path("join.sh")
        options = f"--data {data} --http '' --runner {FAKE_RUNNER}"
        joining = self.process("join", "sh", "-c",
                               f"{fetch} >{script} && exec sh {script} {token} {options}",
                               ASSAY_HOME=self.fleet.path("programs"))
        eventually(lambda: self.connected() == ["g1"], 60, "the node")
        self.assertEqual(joining.stop(), 0)
        eventually(lambda: self.connected() == [], 60, "the loss")
        self.process("unit", *self.command_line(
            "assay-agent", data, ["--http", "", "--runner", FAKE_RUNNER]))
        eventually(lambda: self.connected() == ["g1"], 60, "the return")


def eventually_ended(process, seconds=120):
    """Waits until a process ends and returns its status, 128 + N if signal N ended it."""
    status = eventually(lambda: (process.process.poll(),) if process.process.poll() is not None
                        else None, seconds, f"the end of {process.name}")[0]
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    unittest.main()
