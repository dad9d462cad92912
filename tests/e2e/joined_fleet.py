"""A fleet with an authority of its own: its users and nodes join by the lines that it prints."""

import json
import os
import pwd
import shutil
import subprocess

import harness
from harness import Fleet

NOBODY = pwd.getpwnam("nobody").pw_uid


def make_node_archive(folder):
    """Returns a node's archive with this build's programs, which finds its libraries on this
    machine. tools/bundle.sh makes one for every machine."""
    stage = os.path.join(folder, "archive")
    programs = os.path.join(stage, "opt", "assay", "bin")
    os.makedirs(programs)
    os.makedirs(os.path.join(stage, "DEBIAN"))
    for name in ("assay-agent", "assay-runner"):
        subprocess.run(["strip", "-o", os.path.join(programs, name),
                        os.path.join(harness.BUILD, "bin", name)], check=True)
    with open(os.path.join(stage, "DEBIAN", "control"), "w", encoding="ascii") as control:
        control.write("Package: assay-node\nVersion: 0\nArchitecture: amd64\n"
                      "Maintainer: nobody <nobody@localhost>\nDescription: test\n")
    archive = os.path.join(folder, "assay-node.deb")
    subprocess.run(["dpkg-deb", "-Znone", "--build", stage, archive], check=True,
                   capture_output=True)
    shutil.rmtree(stage)
    return archive


class JoinedFleet(Fleet):
    """A fleet whose first admin, ann, has logged in. The CLI calls as ann, by her context."""

    host = "127.0.0.1"  # Where nodes and users reach the coordinator.

    def start(self, *options, archive=""):
        self.ca = self.path("ca")
        self.grpc_address = f"{self.host}:{harness.free_port()}"
        self.join_address = f"{self.host}:{harness.free_port()}"
        self.archive = archive
        self.postgres.start()
        self.coordinator = self.new_coordinator("coordinator", *options).start()
        self.home = self.path("ann")
        os.makedirs(self.home)
        run = subprocess.run(
            [os.path.join(harness.BUILD, "bin", "assay-coordinator"), *self.authority(), "invite",
             "--role", "admin", "--name", "ann"], check=True, capture_output=True, text=True,
            env={**os.environ, "ASSAY_DATABASE": self.postgres.conninfo})
        self.shell(run.stdout, path=os.path.join(harness.BUILD, "bin"))
        return self

    def authority(self):
        """The coordinator's options about who may join."""
        return ["--ca", self.ca, "--advertise", self.grpc_address, "--join", self.join_address,
                "--node-archive", self.archive]

    def new_coordinator(self, name, *options, grpc=None, **more):
        return super().new_coordinator(name, *self.authority(), *options,
                                       grpc=grpc or self.grpc_address, **more)

    def command(self, *arguments):
        return ["env", "-u", "XDG_CONFIG_HOME", f"HOME={self.home}",
                os.path.join(harness.BUILD, "bin", "assay"), *self.cli_options, *arguments]

    def shell(self, line, path="", code=0):
        """Pastes a line into a shell of ann's."""
        run = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False,
                             env={"HOME": self.home, "PATH": f"{path}:/usr/bin:/bin"})
        if run.returncode != code:
            raise AssertionError(f"{line}\nended with {run.returncode}, not {code}\n{run.stdout}"
                                 f"\n{run.stderr}")
        return run

    def invite(self, *options):
        """Returns the new invite with its token and commands."""
        return self.cli_json("node", "invite", *options)

    def identity(self, name):
        """Returns what the coordinator knows of an enrolled node, or None."""
        return next((one for one in self.cli_json("node", "identities") if one["name"] == name),
                    None)

    def node(self, name):
        return next(node for node in self.nodes() if node["description"]["name"] == name)

    def grpc(self, *arguments, **options):
        folder = self.cli_json("context", "show")["identity"]
        tls = [os.path.join(folder, f"{part}.pem") for part in ("authority", "certificate", "key")]
        return super().grpc(*arguments, **{"tls": tls, **options})
