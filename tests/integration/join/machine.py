"""A rented machine: a container without an init, in a network namespace."""

import os
import subprocess

import harness
from harness import eventually

# Runs in new namespaces of mounts and processes. Changes to the system are lost with the machine.
BOOT = """
root=/
if [ "$1" != / ]; then
  mkdir -p "$2" && mount -t tmpfs tmpfs "$2" && mkdir "$2/upper" "$2/work" "$2/root"
  mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$2/root"
  root=$2/root
  mount -t sysfs sysfs "$root/sys"
fi
mount -t proc proc "$root/proc"
exec chroot "$root" sleep infinity
"""


class Machine:
    """A machine with the system in the folder `system` ("/" for this one's own), in the namespace
    of the network that `inside` enters. Commands run as `user`, with `environment`."""

    def __init__(self, fleet, name, inside, system="/", user=0, environment=None):
        self.name, self._fleet, self._user = name, fleet, user
        self.home = "/root" if system != "/" and user == 0 else fleet.path(f"{name}.home")
        self._environment = {"HOME": self.home, "PATH": "/usr/bin:/bin", **(environment or {})}
        self._boot = fleet.add(name, [*inside, "unshare", "-mpf", "--kill-child", "sh", "-euc",
                                      BOOT, "boot", system, fleet.path(f"{name}.system")]).start()

        def booted():
            if not self._boot.running():
                raise AssertionError(f"{name} did not boot: {self._boot.tail()}")
            for pid in harness.children(self._boot.pid):
                with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                    if file.read().strip() == "sleep":
                        return pid
            return None
        self._init = eventually(booted, 30, f"the start of {name}")
        self.run(f"mkdir -p {self.home} && chown {user} {self.home}", user=0)

    def command(self, line, user=None):
        """Returns a command that types the line into a shell on the machine."""
        user = str(self._user if user is None else user)
        environment = [f"{name}={value}" for name, value in self._environment.items()]
        return ["nsenter", "-t", str(self._init), "-n", "-m", "-p", "-r", "-w", "-S", user, "-G",
                user, "env", "-i", *environment, "bash", "-c", line]

    def run(self, line, code=0, seconds=120, user=None):
        """Runs the line until it ends. Returns its output."""
        run = subprocess.run(self.command(line, user), capture_output=True, text=True, check=False,
                             stdin=subprocess.DEVNULL, timeout=seconds)
        if code is not None and run.returncode != code:
            raise AssertionError(f"{self.name}: {line}\nended with {run.returncode}, not {code}\n"
                                 f"{run.stdout}\n{run.stderr}")
        return run

    def paste(self, line):
        """Starts the line and returns its process."""
        return self._fleet.add(f"{self.name}-shell", self.command(line)).start()

    def pids(self, program):
        """Returns the ids, on the machine, of the processes that run `program`."""
        # The machine's init reaps no children, so some that have ended are still listed.
        found = self.run('for each in /proc/[0-9]*; do [ "$(cat $each/comm 2>/dev/null)" = '
                         f'"{program[:15]}" ] && ! grep -q "^State:.Z" $each/status && '
                         'echo "${each#/proc/}"; done; true')
        return [int(pid) for pid in found.stdout.split()]
