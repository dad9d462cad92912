"""Nodes that join by the printed line: what a wrong line gets, renewal, bans, copies of folders."""

import datetime
import json
import os
import re
import shutil
import subprocess
import unittest

import harness
from harness import FleetCase, eventually
from joined_fleet import JoinedFleet, make_node_archive

WORK = """
name: {name}
nodes: name = {node}
benchmarks:
  - ok: {{value: 1}}
"""
# Runs until the job is cancelled or its node is lost.
HANG = """
name: {name}{nodes}
placement: any
retries: 1
benchmarks:
  - hang: {{}}
"""


class Joining(JoinedFleet):
    """Agents of this machine that join over loopback."""

    def join(self, name, *options, folder=None, token=None, env=None):
        """Starts an agent that joins with a new invite or `token`."""
        invite = self.invite("--name", name) if token is None else {"token": token}
        agent = self.agent_with(folder or name, "join", "--url", self.url, "--pin", self.pin,
                                *options, env={"ASSAY_INVITE": invite["token"], **(env or {})})
        agent.start()
        self.await_node(name)
        return agent

    def start_again(self, folder, wait=True, env=None):
        """Starts the agent of a folder that has joined."""
        return self.agent_with(folder, env=env).start(wait=wait)

    def agent_with(self, folder, *arguments, env=None):
        return self.add(f"{folder}-agent", [
            os.path.join(harness.BUILD, "bin", "assay-agent"), *arguments, "--data",
            self.path(folder), "--http", "127.0.0.1:0", "--runner", harness.FAKE_RUNNER],
            ready=True, env=env)

    def start(self, *options, archive=""):
        super().start(*options, archive=archive)
        command = self.invite()["command"]
        self.pin = re.search(r"sha256//(\S+)", command).group(1)
        self.url = re.search(r"(https://\S+)/join", command).group(1)
        return self

    def reasons(self):
        """Returns the reasons of the refused attempts, newest first."""
        return [one["reason"] for one in self.cli_json("node", "attempts")]


def seconds_left(identity):
    """Returns for how long the newest certificate of an identity is still valid."""
    end = datetime.datetime.fromisoformat(identity["certificate_expire_time"])
    return (end - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


class LineTest(FleetCase):
    """Each wrong line ends with a message and status 2, and installs nothing."""

    @classmethod
    def setUpClass(cls):
        cls.fleet = Joining().__enter__()
        cls.addClassCleanup(lambda: cls.fleet.__exit__(
            AssertionError if cls.failed else None, None, None))
        cls.archive = make_node_archive(cls.fleet.folder)
        cls.fleet.start(archive=cls.archive)

    def tearDown(self):
        self.note_failure()

    def refused(self, line, said, code=2, reason=None, installs=True):
        """Pastes a line that must fail. `said`: a pattern of the message."""
        fleet, home = self.fleet, self.fleet.path(self.id())
        os.makedirs(home, exist_ok=True)
        attempts = len(fleet.reasons())
        run = subprocess.run(
            ["bash", "-c", f"{line} --data {home}/data --http '' --runner {harness.FAKE_RUNNER}"],
            capture_output=True, text=True, check=False, timeout=60,
            env={"HOME": home, "PATH": "/usr/bin:/bin", "no_proxy": "*"})
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        self.assertRegex(run.stderr, said)
        for word in ("Socket closed", "terminate", "handshake"):
            self.assertNotIn(word, run.stderr)
        self.assertEqual(run.stdout, "")
        reasons = fleet.reasons()
        self.assertEqual(reasons[:len(reasons) - attempts], [f"REASON_{reason}"] if reason else [])
        programs = os.path.join(home, ".local", "share", "assay-node")
        found = os.listdir(programs) if os.path.exists(programs) else []
        self.assertEqual(len(found), 1 if installs else 0, found)
        self.assertFalse(any("new." in name for name in found), found)
        self.assertFalse(os.path.exists(f"{home}/data/identity/enrolment.json"))

    def test_truncated_token(self):
        self.refused(self.fleet.invite()["command"][:-5], "cut off")

    def test_no_token(self):
        line = self.fleet.invite()["command"]
        self.refused(line[:line.rindex(" ")], "token", installs=False)

    def test_unknown_token(self):
        """The token of another fleet."""
        with Joining() as other:
            other.start()
            foreign = other.invite()
        line = self.fleet.invite()
        self.refused(line["command"].replace(line["token"], foreign["token"]), "invite",
                     reason="UNKNOWN_INVITE")

    def test_used_token(self):
        invite = self.fleet.invite("--name", "first")
        self.fleet.join("first", token=invite["token"]).stop()
        self.refused(invite["command"], "first", reason="INVITE_USED")

    def test_expired_token(self):
        invite = self.fleet.invite()
        self.fleet.postgres.rows("UPDATE invite SET expire_time = now() - interval '1 minute'"
                                 f" WHERE invite_id = '{invite['invite']['invite_id']}'")
        self.refused(invite["command"], "expired", reason="INVITE_EXPIRED")

    def test_revoked_token(self):
        invite = self.fleet.invite()
        self.fleet.cli("node", "revoke", invite["invite"]["invite_id"])
        self.refused(invite["command"], "revoked", reason="INVITE_REVOKED")

    @unittest.skipUnless(shutil.which("faketime"), "faketime is not installed")
    def test_wrong_clock(self):
        for shift in ("+2h", "-2h"):
            invite = self.fleet.invite()
            with self.subTest(shift):
                self.refused(f"export LD_PRELOAD=$(faketime -f {shift} printenv LD_PRELOAD) "
                             f"FAKETIME={shift}; {invite['command']}", "clock",
                             reason="CLOCK_SKEW")

    def test_changed_byte_in_the_archive(self):
        with open(self.archive, "r+b") as file:
            file.seek(100_000)
            byte = file.read(1)[0]
            for value in (byte ^ 1, byte):
                file.seek(100_000)
                file.write(bytes([value]))
                file.flush()
                if value != byte:
                    self.refused(self.fleet.invite()["command"], "assay-node.deb", installs=False)

    def test_wrong_pin(self):
        """curl refuses, so the shell gets an empty script."""
        line = self.fleet.invite()["command"]
        wrong = line.replace(self.fleet.pin, "A" * 43 + "=")
        self.refused(wrong, "public key", code=0, installs=False)

    def test_wget_at_another_server(self):
        with Joining() as other:
            other.start()
            line = self.fleet.invite()["wget_command"].replace(self.fleet.join_address,
                                                               other.join_address)
            self.refused(line, "certificate", code=0, installs=False)

    def test_port_without_tls(self):
        line = self.fleet.invite()["command"]
        plain = self.fleet.coordinator.addresses["http"]
        self.refused(line.replace(self.fleet.join_address, plain), "SSL|TLS", code=0,
                     installs=False)

    def test_agent_at_a_wrong_server(self):
        """The line's second half, with the address or the pin of something else."""
        fleet, token = self.fleet, self.fleet.invite()["token"]
        plain = fleet.coordinator.addresses["http"]
        agent = os.path.join(harness.BUILD, "bin", "assay-agent")
        for url, pin in ((fleet.url, "A" * 43 + "="), (f"https://{plain}", fleet.pin)):
            with self.subTest(url):
                self.refused(f"{agent} join --url {url} --pin {pin} {token}", "WRONG_PEER",
                             installs=False)
        nothing = f"https://127.0.0.1:{harness.free_port()}"
        self.refused(f"{agent} join --url {nothing} --pin {fleet.pin} {token}", "UNREACHABLE",
                     code=1, installs=False)


class LifeTest(FleetCase):
    def test_certificates_are_renewed_and_expired_nodes_come_back(self):
        fleet = self.open(Joining())
        fleet.start("--node-certificate", "1m")
        away = fleet.join("away")
        away.stop()
        busy = fleet.join("busy")
        first = fleet.identity("busy")
        instance = fleet.node("busy")["description"]["agent_instance_id"]
        campaign = fleet.submit(HANG.format(name="long", nodes="\nnodes: name = busy"))
        fleet.running_job(campaign)
        eventually(lambda: fleet.identity("busy")["serial"] != first["serial"], 90,
                   "the renewal of busy", 1)
        # The session and the job outlive the first certificate.
        eventually(lambda: seconds_left(first) < -5, 90, "the end of the first certificate", 1)
        self.assertTrue(busy.running())
        (job,) = fleet.jobs(campaign)
        self.assertEqual((job["state"], job["attempts"]), ("JOB_STATE_RUNNING", 1), job)
        node = fleet.node("busy")
        self.assertEqual(node["description"]["agent_instance_id"], instance)
        self.assertEqual(node["state"], "NODE_STATE_CONNECTED")
        # A key whose certificate has expired gets another one.
        self.assertLess(seconds_left(fleet.identity("away")), 0)
        fleet.start_again("away")
        fleet.await_node("away")
        self.assertGreater(seconds_left(fleet.identity("away")), 0)
        fleet.cli("campaign", "cancel", campaign)

    def test_a_banned_node_ends_and_its_job_goes_elsewhere(self):
        fleet = self.open(Joining())
        fleet.start()
        agents = {name: fleet.join(name) for name in ("one", "two")}
        campaign = fleet.submit(HANG.format(name="goes", nodes=""))
        bad = fleet.running_job(campaign)
        other = "two" if bad == "one" else "one"
        before = fleet.identity(bad)
        fleet.cli("node", "ban", bad, "--reason", "it lies")
        self.assertEqual(agents[bad].process.wait(30), 2)
        ban = fleet.identity(bad)["ban_reason"]
        self.assertEqual(ban, "it lies")
        self.assertEqual(agents[bad].reason(), "BANNED")
        self.assertIn(ban, agents[bad].tail())
        eventually(lambda: [job["node_names"] for job in fleet.jobs(campaign)
                            if job["state"] == "JOB_STATE_RUNNING"] == [[other]], 60,
                   "the job on the other node")
        # As long as it is banned, neither its certificate nor its key helps.
        again = fleet.start_again(bad, wait=False)
        self.assertEqual(again.process.wait(60), 2)
        self.assertEqual(again.reason(), "BANNED")
        self.assertIn(ban, again.tail())
        fleet.cli("campaign", "cancel", campaign)
        fleet.cli("node", "unban", bad)
        fleet.start_again(bad)
        fleet.await_node(bad)
        self.assertEqual(fleet.identity(bad)["identity_id"], before["identity_id"])
        campaign = fleet.submit(WORK.format(name="again", node=bad))
        self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 1)

    def test_a_removed_node_needs_another_invite(self):
        fleet = self.open(Joining())
        fleet.start()
        agent = fleet.join("leaves")
        old = fleet.identity("leaves")["identity_id"]
        fleet.cli("node", "remove", "leaves")
        self.assertEqual(agent.process.wait(30), 2)
        self.assertIsNone(fleet.identity("leaves"))
        self.assertEqual(fleet.start_again("leaves", wait=False).process.wait(60), 2)
        fleet.join("leaves", folder="new")
        self.assertNotEqual(fleet.identity("leaves")["identity_id"], old)

    def test_two_agents_with_one_key(self):
        """The copy of a folder on the same machine disturbs the original in no way."""
        fleet = self.open(Joining())
        fleet.start()
        original = fleet.join("original")
        shutil.copytree(fleet.path("original"), fleet.path("copy"))
        copy = fleet.start_again("copy", wait=False)
        # It tries again, because a session that is still open may be its own of a moment ago.
        eventually(lambda: copy.said("two agents"), 30, "the refusal of the copy")
        eventually(lambda: original.said("has refused another agent"), 30, "the original's word")
        campaign = fleet.submit(WORK.format(name="still", node="original"))
        self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 1)

    def test_a_folder_of_another_machine(self):
        fleet = self.open(Joining())
        fleet.start()
        fleet.join("rented", env={"RUNPOD_POD_ID": "first"}).stop()
        record = fleet.path("rented", "identity", "machine.json")
        with open(record, encoding="utf-8") as file:
            machine = json.load(file)
        self.assertEqual(machine["instance"], "first")
        with open(record, "w", encoding="utf-8") as file:
            json.dump({**machine, "boot_id": "of the other machine"}, file)
        copy = fleet.start_again("rented", wait=False, env={"RUNPOD_POD_ID": "second"})
        self.assertEqual(copy.process.wait(30), 2)
        self.assertEqual(copy.reason(), "COPIED_FOLDER")
        # The same rental after a restart of its container.
        fleet.start_again("rented", env={"RUNPOD_POD_ID": "first"})
        fleet.await_node("rented")


if __name__ == "__main__":
    unittest.main(verbosity=2)
