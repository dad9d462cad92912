"""Real processes for tests: a private PostgreSQL, coordinators, agents and the CLI.

Everything is in one temporary folder and on free loopback ports. The test starts each process and
ends it by its process id. Tests do not sleep: `eventually` polls a condition until a deadline.

    with Fleet() as fleet:
        fleet.start()                       # PostgreSQL and a coordinator
        agent = fleet.agent("node-a")
        fleet.submit(CAMPAIGN)
"""

import contextlib
import glob
import json
import os
import pwd
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("ASSAY_BUILD", os.path.join(ROOT, "build"))
FAKE_RUNNER = os.path.join(BUILD, "tests", "fake_runner")
RUNNER = os.path.join(BUILD, "bin", "assay-runner")


def eventually(condition, seconds=30.0, what="the condition", period=None):
    """Returns the first true value of `condition()`. Raises AssertionError after `seconds`. Without
    `period`, pauses grow: a tenth of the time waited, between 0.1 and 1 s."""
    begin = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        waited = time.monotonic() - begin
        if waited > seconds:
            raise AssertionError(f"{what} did not come true within {seconds:g} s")
        time.sleep(period or min(max(0.1, waited / 10), 1))


def let_pass(seconds):
    """Lets an outage or a pause last this long. To wait for an effect, use `eventually`."""
    time.sleep(seconds)


def reason_of(text):
    """Returns the last reason in parentheses at the end of a line, with which agents and
    grpc_client say why they failed: "INVITE_USED" of "... was used (INVITE_USED)"."""
    found = re.findall(r"\(([A-Z]+(?:_[A-Z]+)*)\)$", text.rstrip(), re.MULTILINE)
    if not found:
        raise AssertionError(f"no reason in: {text}")
    return found[-1]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def postgres_bin():
    """Returns the folder of PostgreSQL's programs: $ASSAY_POSTGRES_BIN, or the newest installed
    one."""
    named = os.environ.get("ASSAY_POSTGRES_BIN")
    if named:
        return named
    found = glob.glob("/usr/lib/postgresql/*/bin")
    if not found:
        raise RuntimeError("no PostgreSQL server under /usr/lib/postgresql")
    return max(found, key=lambda path: int(path.split("/")[-2]))


class Process:
    """A child process that is killed when the test ends. Its output goes to a file."""

    def __init__(self, name, command, log, ready=False, user=None, env=None):
        self.name, self.log = name, log
        self._command, self._user, self._env = command, user, env
        self._ready = ready
        self.process = None
        self.addresses = {}

    def wrap(self, prefix):
        """Puts `prefix`, a command that executes the rest, before the command."""
        self._command = [*prefix, *self._command]

    def start(self, seconds=30.0, wait=True):
        """Starts the process, again if it has ended. With `wait`, returns when it is ready."""
        read_end = write_end = None
        command = list(self._command)
        ready = self._ready and wait
        if ready:
            read_end, write_end = os.pipe()
            command += ["--ready-fd", str(write_end)]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=self._user,
                env={**os.environ, **(self._env or {})},
                pass_fds=[write_end] if write_end is not None else [])
        if ready:
            os.close(write_end)
            try:
                line = json.loads(self._read_line(read_end, seconds))
            finally:
                os.close(read_end)
            if "error" in line:
                self.process.wait()
                raise AssertionError(f"{self.name} did not start: {line['error']}\n{self.tail()}")
            self.addresses = line
        return self

    def _read_line(self, descriptor, seconds):
        deadline, line = time.monotonic() + seconds, b""
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise AssertionError(f"{self.name} was not ready in {seconds:g} s\n{self.tail()}")
            read = os.read(descriptor, 4096)
            if not read:
                self.process.wait()
                raise AssertionError(
                    f"{self.name} ended with {self.process.returncode}\n{self.tail()}")
            line += read
        return line

    def said(self, text):
        """Returns how often the log contains the text."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read().count(text)

    def tail(self, characters=4000):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-characters:]

    def reason(self):
        """Returns the reason with which an agent has ended."""
        return reason_of(self.tail())

    @property
    def pid(self):
        return self.process.pid

    def running(self):
        return self.process is not None and self.process.poll() is None

    def send_signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """Kills the process with SIGKILL, as if its machine died."""
        if self.running():
            self.process.kill()
            self.process.wait()

    def stop(self, seconds=15.0, number=signal.SIGTERM):
        """Ends the process with a signal and returns its exit status. Kills it after `seconds`."""
        if not self.running():
            return self.process.returncode if self.process else None
        self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None


class Postgres:
    """A private PostgreSQL without passwords, on a socket in its own folder and a loopback port."""

    def __init__(self, folder):
        self._bin, self._data = postgres_bin(), os.path.join(folder, "data")
        self._folder, self.port = folder, free_port()
        # initdb refuses to run as root. The package creates a user for this.
        self._user = pwd.getpwnam("postgres").pw_uid if os.geteuid() == 0 else None
        os.makedirs(folder, exist_ok=True)
        if self._user is not None:
            os.chown(folder, self._user, -1)
        self.server = None

    @property
    def conninfo(self):
        return self.conninfo_of("assay")

    def conninfo_of(self, database):
        return f"host=127.0.0.1 port={self.port} user=assay dbname={database}"

    def start(self):
        if not os.path.exists(self._data):
            subprocess.run([os.path.join(self._bin, "initdb"), "-D", self._data, "-U", "assay",
                            "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"],
                           check=True, capture_output=True, user=self._user, cwd="/")
        self.server = Process("postgres", [
            os.path.join(self._bin, "postgres"), "-D", self._data, "-p", str(self.port),
            "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self._folder}",
            "-c", "max_connections=100", "-c", "fsync=off"],
            os.path.join(self._folder, "postgres.log"), user=self._user).start()
        eventually(self._answers, 30, "PostgreSQL's start")
        if not self.rows("SELECT 1 FROM pg_database WHERE datname = 'assay'", "postgres"):
            self.rows("CREATE DATABASE assay", "postgres")
        return self

    def _answers(self):
        return subprocess.run([os.path.join(self._bin, "pg_isready"), "-q", "-h", "127.0.0.1",
                               "-p", str(self.port), "-U", "assay", "-d", "postgres"],
                              check=False).returncode == 0

    def stop(self, number=signal.SIGINT):
        """Ends the server: SIGINT ends all sessions first, SIGQUIT leaves recovery to the next
        start."""
        if self.server:
            self.server.stop(number=number)

    def suspend(self):
        """Stops all processes of the server, as if its host hung. The connections stay open."""
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        # The server first, so that it starts no process meanwhile.
        self.server.send_signal(number)
        for pid in children(self.server.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def dump(self, file):
        subprocess.run([os.path.join(self._bin, "pg_dump"), "--no-owner", "--no-privileges", "-f",
                        file, self.conninfo], check=True)

    def restore(self, file):
        """Fills the empty database from a dump."""
        subprocess.run([os.path.join(self._bin, "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1",
                        "-o", os.devnull, "-f", file, self.conninfo], check=True)

    def rows(self, sql, database="assay", writable=False):
        """Returns rows as lists of text. `writable` overrides a default of read-only."""
        options = {"PGOPTIONS": "-c default_transaction_read_only=off"} if writable else {}
        run = subprocess.run(
            [os.path.join(self._bin, "psql"), "-X", "-A", "-t", "-q", "-F", "\x1f",
             "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port), "-U", "assay",
             "-d", database, "-c", sql], capture_output=True, text=True, check=False,
            env={**os.environ, **options})
        if run.returncode:
            raise AssertionError(f"{run.stderr.strip()}\nin: {sql}")
        return [line.split("\x1f") for line in run.stdout.splitlines() if line]

    def value(self, sql):
        return self.rows(sql)[0][0]


class Fleet:
    """A private installation of Assay. Use as a context manager."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="assay-test-")
        os.chmod(self.folder, 0o755)
        self.postgres = Postgres(os.path.join(self.folder, "pg"))
        self.coordinator = None
        self.lease, self.heartbeat = "5s", "1s"
        self._processes = []
        # Options for every call of the CLI, for example --tls-ca.
        self.cli_options = []

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self._print_logs()
        for process in reversed(self._processes):
            with contextlib.suppress(OSError):
                process.stop(5)
        self.postgres.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _print_logs(self):
        started = {process.log: process for process in self._processes if process.process}
        for process in started.values():
            print(f"---- {process.name}\n{process.tail()}")

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def add(self, name, command, ready=False, env=None):
        process = Process(name, command, self.path(f"{name}.log"), ready, env=env)
        self._processes.append(process)
        return process

    def start(self, *options):
        self.postgres.start()
        self.coordinator = self.new_coordinator("coordinator", *options).start()
        return self

    def new_coordinator(self, name, *options, grpc="127.0.0.1:0", http="127.0.0.1:0",
                        console="127.0.0.1:0", database=None, env=None):
        return self.add(name, [
            os.path.join(BUILD, "bin", "assay-coordinator"), "--listen", grpc, "--http", http,
            "--console", console,
            "--lease", self.lease, "--heartbeat", self.heartbeat, *options],
            ready=True, env={"ASSAY_DATABASE": database or self.postgres.conninfo, **(env or {})})

    def restart_coordinator(self, *options, database=None):
        """Starts a new coordinator on the addresses of the last one."""
        old = self.coordinator.addresses
        self.coordinator = self.new_coordinator(
            "coordinator-again", *options, grpc=old["grpc"], http=old["http"],
            console=urllib.parse.urlsplit(old["console"]).netloc, database=database).start()

    def address(self):
        """Returns what agents and the CLI get as --coordinator."""
        return self.coordinator.addresses["grpc"]

    def new_agent(self, folder, *options, name=None, runner=FAKE_RUNNER, attach=True, env=None,
                  listen="127.0.0.1:0", coordinator=None):
        """Returns an agent with its state in `folder`. Without `name`, the folder names the node
        too. It attaches to `coordinator`, or to the fleet's."""
        command = [os.path.join(BUILD, "bin", "assay-agent"), "--data", self.path(folder),
                   "--http", "127.0.0.1:0", "--name", name or folder, "--runner", runner]
        if listen:
            command += ["--listen", listen]
        if attach:
            command += ["--coordinator", coordinator or self.address()]
        return self.add(folder, [*command, *options], ready=True, env=env)

    def agent(self, name, *options, attach=True, **more):
        """Starts an agent. If it attaches, waits until the coordinator lists it."""
        process = self.new_agent(name, *options, attach=attach, **more).start()
        if attach:
            self.await_node(name)
        return process

    def await_node(self, name, state="CONNECTED", seconds=30):
        def found():
            return any(name == node["description"]["name"]
                       and node["state"] == f"NODE_STATE_{state}" for node in self.nodes())
        return eventually(found, seconds, f"node {name} in state {state}")

    def nodes(self):
        return self.cli_json("node", "list")

    def command(self, *arguments):
        """Returns the command line of `assay ARGUMENTS`."""
        return [os.path.join(BUILD, "bin", "assay"), "--coordinator", self.address(),
                *self.cli_options, *arguments]

    def cli(self, *arguments, code=0, seconds=120, stdin=None):
        """Runs `assay ARGUMENTS`. `code` is the expected exit status, None for any."""
        command = self.command(*arguments)
        run = subprocess.run(command, capture_output=True, text=True, timeout=seconds,
                             check=False, input=stdin)
        if code is not None and run.returncode != code:
            raise AssertionError(f"{' '.join(command)}\nended with {run.returncode}, not {code}\n"
                                 f"{run.stdout}\n{run.stderr}")
        return run

    def cli_json(self, *arguments):
        return json.loads(self.cli(*arguments, "-o", "json").stdout)

    def grpc(self, *arguments, server=None, tls=(), code=0):
        """Lists or calls services by reflection alone. Returns the lines that grpc_client prints,
        on stderr if `code` expects a failure."""
        address = (server or self.coordinator).addresses["grpc"]
        run = subprocess.run([os.path.join(BUILD, "tests", "grpc_client"), address, *tls,
                              *arguments], capture_output=True, text=True, timeout=60, check=False)
        if run.returncode != code:
            raise AssertionError(f"{arguments} at {address} ended with {run.returncode}\n"
                                 f"{run.stdout}\n{run.stderr}")
        return (run.stderr if code else run.stdout).splitlines()

    def call(self, method, request=None, **options):
        """Returns the responses of one call of assay.v1, for example "NodeService/ListNodes"."""
        lines = self.grpc("call", f"assay.v1.{method}", json.dumps(request or {}), **options)
        return [json.loads(line) for line in lines]

    def refusal(self, method, request=None, **options):
        """Makes a call that must be refused, and returns the reason. The CLI prints the message
        of a refusal without its reason."""
        lines = self.grpc("call", f"assay.v1.{method}", json.dumps(request or {}), code=1,
                          **options)
        return reason_of("\n".join(lines))

    def write_campaign(self, text):
        file = self.path(f"campaign-{time.monotonic_ns()}.yaml")
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
        return file

    def submit(self, text):
        """Submits a campaign file with this text and returns the campaign's id."""
        run = self.cli("campaign", "submit", self.write_campaign(text))
        return re.search(r"\(([0-9a-f-]{36})\)", run.stdout).group(1)

    def campaign(self, campaign):
        return self.cli_json("campaign", "show", campaign)

    def jobs(self, campaign):
        """Returns all jobs of a campaign, which it reads page by page."""
        jobs, request = [], {"campaign": campaign}
        while True:
            page = self.call("CampaignService/ListJobs", request)[0]
            jobs += page.get("jobs", [])
            request["page_token"] = page.get("next_page_token", "")
            if not request["page_token"]:
                return jobs

    def running_job(self, campaign):
        """Returns the name of a node that runs a job of the campaign."""
        def running():
            return next((job for job in self.jobs(campaign)
                         if job["state"] == "JOB_STATE_RUNNING"), None)
        return eventually(running, 30, "a running job")["node_names"][0]

    def await_runner(self, agent):
        """Waits until the agent runs a job."""
        eventually(lambda: "assay_agent_running_jobs 1" in self.metrics(agent), 30,
                   f"a job on {agent.name}")

    def spool(self, folder):
        """Returns the files of results that no coordinator has acknowledged."""
        return glob.glob(self.path(folder, "spool", "*.result"))

    def await_end(self, campaign, seconds=60):
        def ended():
            shown = self.campaign(campaign)
            # The verdict follows the last job's end.
            judged = shown["verdict"] != "VERDICT_UNSPECIFIED"
            return shown if shown["state"] != "CAMPAIGN_STATE_ACTIVE" and judged else None
        return eventually(ended, seconds, f"the verdict on campaign {campaign}")

    def metrics(self, process):
        return fetch(f"http://{process.addresses['http']}/metrics")


class FleetCase(unittest.TestCase):
    """Tests that use fleets, whose logs are printed after a failure."""

    failed = False  # Whether any test of the class has failed.

    def run(self, result=None):
        self._result = result
        return super().run(result)

    def open(self, fleet):
        """Opens a fleet until the end of the test, and returns it."""
        self.addCleanup(self._close, fleet.__enter__())
        return fleet

    def note_failure(self):
        """Returns whether the test has failed, and notes it in the class."""
        failed = any(test is self for test, _ in self._result.failures + self._result.errors)
        type(self).failed |= failed
        return failed

    def _close(self, fleet):
        fleet.__exit__(AssertionError if self.note_failure() else None, None, None)


def fetch(url, seconds=5):
    with urllib.request.urlopen(url, timeout=seconds) as answer:
        return answer.read().decode("utf-8")


def children(parent):
    """Returns the ids of the process's children."""
    found = []
    for stat in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(stat, encoding="utf-8", errors="replace") as file:
            # The program's name is in parentheses and may contain anything.
            fields = file.read().rsplit(")", 1)[1].split()
            if int(fields[1]) == parent:
                found.append(int(stat.split("/")[2]))
    return found
