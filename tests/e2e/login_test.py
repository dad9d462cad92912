"""Users of a fleet with an authority, as real processes: the first admin, logins, roles, bans,
contexts, expired certificates, and machines that join over ssh."""

import contextlib
import getpass
import json
import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request

from harness import BUILD, Fleet, FleetCase, eventually, free_port

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
CAMPAIGN = """
name: tiny
absent: wait
benchmarks:
  - ok: {value: 7}
"""


class JoinFleet(Fleet):
    """A fleet whose coordinator has an authority. Everyone has a configuration of their own."""

    def __init__(self):
        super().__init__()
        self.port, self.join_port = free_port(), free_port()
        self.join_url = f"https://127.0.0.1:{self.join_port}"

    @property
    def authority(self):
        return ["--ca", self.path("authority"), "--advertise", f"127.0.0.1:{self.port}",
                "--join", f"127.0.0.1:{self.join_port}",
                "--advertise-join", f"127.0.0.1:{self.join_port}"]

    def start(self, *options):
        self.postgres.start()
        self.coordinator = self.new_coordinator(
            "coordinator", *self.authority, *options, grpc=f"127.0.0.1:{self.port}").start()
        return self

    def first_invite(self, role, name):
        """Makes an invite as the owner of the coordinator's machine."""
        run = subprocess.run(
            [os.path.join(BUILD, "bin", "assay-coordinator"), "--listen", f"127.0.0.1:{self.port}",
             *self.authority, "invite", "--role", role, "--name", name, "-o", "json"],
            env={**os.environ, "ASSAY_DATABASE": self.postgres.conninfo}, capture_output=True,
            text=True, check=False, timeout=60)
        if run.returncode:
            raise AssertionError(run.stderr)
        return json.loads(run.stdout)

    def config(self, user):
        return self.path("home", user)

    def run_as(self, user, *arguments, code=0, seconds=120, **more):
        """Runs `assay ARGUMENTS` with the contexts of a user."""
        env = {**os.environ, "XDG_CONFIG_HOME": self.config(user), **more}
        for name in ("ASSAY_COORDINATOR", "ASSAY_CONTEXT"):
            if name not in more:
                env.pop(name, None)
        os.makedirs(self.config(user), exist_ok=True)
        run = subprocess.run([os.path.join(BUILD, "bin", "assay"), *arguments], env=env,
                             capture_output=True, text=True, check=False, timeout=seconds)
        if code is not None and run.returncode != code:
            raise AssertionError(f"assay {' '.join(arguments)}\nended with {run.returncode}, not "
                                 f"{code}\n{run.stdout}\n{run.stderr}")
        return run

    def login_admin(self, user="ann"):
        invite = self.first_invite("admin", user)
        self.run_as(user, "login", invite["url"], "--pin", invite["pin"], invite["token"])
        return invite

    def json_as(self, user, *arguments):
        return json.loads(self.run_as(user, *arguments, "-o", "json").stdout)

    def invite_and_login(self, admin, user, role, *options):
        """Invites a user and runs the line that the admin gets."""
        line = self.run_as(admin, "user", "invite", user, "--role", role).stdout.split()
        assert line[0] == "assay", line
        return self.run_as(user, *line[1:], *options)

    def identity(self, user, context="127.0.0.1"):
        return os.path.join(self.config(user), "assay", "identities", context)

    def tls(self, user):
        """Returns the arguments of grpc_client for a user's certificate."""
        return [os.path.join(self.identity(user), f"{part}.pem")
                for part in ("authority", "certificate", "key")]

    def certificate_end(self, user):
        [row] = self.json_as(user, "context", "list")
        return row["certificate_expire_time"]

    def age_certificate(self, user, hours):
        """Replaces a user's certificate by one that was issued `hours` ago for 12 hours."""
        folder, authority = self.identity(user), self.path("authority")
        request = subprocess.run(
            ["openssl", "req", "-new", "-key", f"{folder}/key.pem", "-subj", "/"], check=True,
            capture_output=True).stdout
        extensions = self.path("extensions")
        with open(extensions, "w", encoding="utf-8") as file:
            file.write("basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
                       f"extendedKeyUsage=clientAuth\nsubjectAltName=URI:spiffe://assay/admin/{user}\n")
        database = self.path("ca-database")
        shutil.rmtree(database, ignore_errors=True)
        os.makedirs(database)
        config = self.path("ca.cnf")
        open(f"{database}/index.txt", "w", encoding="utf-8").close()
        with open(config, "w", encoding="utf-8") as file:
            file.write("[ca]\ndefault_ca = a\n[a]\npolicy = p\ndefault_md = sha256\n"
                       f"database = {database}/index.txt\nnew_certs_dir = {database}\n"
                       "rand_serial = yes\nunique_subject = no\n[p]\ncommonName = optional\n")
        moment = lambda offset: subprocess.run(
            ["date", "-u", "-d", f"{offset} hours", "+%Y%m%d%H%M%SZ"], check=True,
            capture_output=True, text=True).stdout.strip()
        with open(self.path("request.pem"), "wb") as file:
            file.write(request)
        certificate = subprocess.run(
            ["openssl", "ca", "-batch", "-notext", "-config", config, "-in",
             self.path("request.pem"), "-cert", f"{authority}/ca.pem", "-keyfile",
             f"{authority}/ca.key", "-extfile", extensions, "-startdate", moment(-hours),
             "-enddate", moment(12 - hours)], check=True, capture_output=True, text=True).stdout
        with open(f"{folder}/enrolment.json", encoding="utf-8") as file:
            stored = json.load(file)
        [key] = [name for name, value in stored.items()
                 if isinstance(value, str) and "BEGIN CERTIFICATE" in value
                 and name.startswith("certificate")]
        stored[key] = certificate
        for name, text in (("enrolment.json", json.dumps(stored)), ("certificate.pem", certificate)):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(f"{folder}/{name}", 0o600)


class LoginTest(FleetCase):
    def setUp(self):
        self.fleet = self.open(JoinFleet()).start()
        self.fleet.login_admin()

    def test_roles_bans_and_removal(self):
        fleet = self.fleet
        # Nobody gives another option from here on.
        self.assertEqual(fleet.json_as("ann", "node", "list"), [])
        fleet.invite_and_login("ann", "bob", "viewer")
        fleet.run_as("bob", "node", "list")
        file = fleet.write_campaign(CAMPAIGN)
        refused = fleet.run_as("bob", "campaign", "submit", file, code=4)
        self.assertEqual(fleet.refusal("CampaignService/CreateCampaign", tls=fleet.tls("bob")),
                         "NOT_PERMITTED")
        role = fleet.json_as("bob", "context", "show")["role"]
        self.assertEqual(role, "viewer")
        self.assertIn(role, refused.stderr)
        fleet.run_as("bob", "user", "list", code=4)
        fleet.run_as("bob", "node", "invite", code=4)

        fleet.run_as("ann", "user", "ban", "bob", "--reason", "left the team")
        def banned():
            run = fleet.run_as("bob", "node", "list", code=None)
            return run.returncode == 4 and "left the team" in run.stderr
        eventually(banned, 10, "the ban")
        [bob] = [one for one in fleet.json_as("ann", "user", "list") if one["name"] == "bob"]
        self.assertEqual((bob["role"], bob["ban_reason"], bob["banned_by"]),
                         ("viewer", "left the team", "ann"))
        fleet.run_as("ann", "user", "unban", "bob")
        eventually(lambda: fleet.run_as("bob", "node", "list", code=None).returncode == 0, 10,
                   "the end of the ban")

        # The name is free after the removal, and the key may have another role.
        fleet.run_as("ann", "user", "remove", "bob")
        eventually(lambda: fleet.run_as("bob", "node", "list", code=None).returncode == 4, 10,
                   "the removal")
        fleet.invite_and_login("ann", "bob", "operator")
        self.assertEqual(fleet.json_as("bob", "context", "show")["role"], "operator")
        # The role suffices now, but the fleet has no nodes.
        accepted = fleet.run_as("bob", "campaign", "submit", file, code=2)
        self.assertEqual(re.findall(rf"^{file}:(?:\d+:)? (\S+): ", accepted.stderr, re.MULTILINE),
                         ["nodes", "benchmarks[0]"])

    def test_invites_are_used_once(self):
        fleet = self.fleet
        line = fleet.run_as("ann", "user", "invite", "eve", "--role", "viewer").stdout.split()[1:]
        fleet.run_as("eve", *line)
        # The same key may use it again, for example after a lost response. Another must not.
        fleet.run_as("eve", *line)
        used = fleet.run_as("mallory", *line, code=4)
        [invite] = [one for one in fleet.json_as("ann", "node", "invites")
                    if one["scope"]["name"] == "eve"]
        self.assertEqual(invite["identity_name"], "eve")
        self.assertIn(invite["identity_name"], used.stderr)
        self.assertFalse(os.path.exists(fleet.identity("mallory")))
        self.assertFalse(os.path.exists(os.path.join(fleet.config("mallory"), "assay", "config")))
        [attempt] = fleet.json_as("ann", "node", "attempts")
        self.assertEqual(attempt["reason"], "REASON_INVITE_USED")
        self.assertEqual(attempt["address"], "127.0.0.1")

        # Revoked, wrong and truncated ones.
        fleet.run_as("ann", "user", "invite", "dan", "--role", "viewer")
        open_ones = [one for one in fleet.json_as("ann", "node", "invites")
                     if not one["identity_id"]]
        [dans] = [one for one in open_ones if one["scope"]["name"] == "dan"]
        fleet.run_as("ann", "node", "revoke", dans["invite_id"])
        fleet.run_as("mallory", *line[:-1], line[-1][:-5], code=2)
        wrong_pin = [*line]
        wrong_pin[line.index("--pin") + 1] = "A" * 43 + "="
        fleet.run_as("mallory", *wrong_pin, code=4)

    def test_node_invite_used_by_a_user_is_explained(self):
        fleet = self.fleet
        line = fleet.run_as("ann", "node", "invite", "--name", "gpu-7", "--label", "rack=3",
                            "--price", "2.5").stdout
        words = shlex.split(line)
        key = words[words.index("--pinnedpubkey") + 1]
        [invite] = fleet.json_as("ann", "node", "invites")[:1]
        self.assertEqual(invite["scope"]["labels"], {"rack": "3"})
        pin = re.fullmatch(r"sha256//(\S+)", key).group(1)
        refused = fleet.run_as("carl", "login", fleet.join_url, "--pin", pin, line.split()[-1],
                               code=4)
        [node] = fleet.json_as("ann", "node", "identities")
        self.assertEqual(node["name"], "gpu-7")
        self.assertIn(node["name"], refused.stderr)
        fleet.run_as("ann", "node", "remove", "gpu-7")
        self.assertEqual(fleet.json_as("ann", "node", "identities"), [])

    def test_contexts(self):
        fleet = self.fleet
        invite = fleet.first_invite("viewer", "ann-2")
        fleet.run_as("ann", "login", invite["url"], "--pin", invite["pin"], invite["token"],
                     "--context", "second")
        rows = {row["name"]: row for row in fleet.json_as("ann", "context", "list")}
        self.assertEqual({name: row["current"] for name, row in rows.items()},
                         {"127.0.0.1": False, "second": True})
        self.assertEqual(rows["second"]["role"], "viewer")
        fleet.run_as("ann", "user", "list", code=4)
        fleet.run_as("ann", "user", "list", "--context", "127.0.0.1")
        fleet.run_as("ann", "user", "list", ASSAY_CONTEXT="127.0.0.1")
        fleet.run_as("ann", "context", "use", "127.0.0.1")
        fleet.run_as("ann", "user", "list")
        fleet.run_as("ann", "context", "remove", "second")
        self.assertFalse(os.path.exists(fleet.identity("ann", "second")))
        for name in ("key.pem", "certificate.pem", "enrolment.json"):
            mode = os.stat(os.path.join(fleet.identity("ann"), name)).st_mode
            self.assertEqual(stat.S_IMODE(mode) & 0o077, 0, name)
        # Explicit options win: this address has no coordinator.
        fleet.run_as("ann", "node", "list", "--coordinator", f"127.0.0.1:{free_port()}", code=3)

    def test_certificates_are_renewed(self):
        fleet = self.fleet
        fresh = fleet.certificate_end("ann")
        fleet.run_as("ann", "node", "list")
        self.assertEqual(fleet.certificate_end("ann"), fresh)
        # With less than a third of its life, and after its end.
        for hours in (9, 200):
            fleet.age_certificate("ann", hours)
            aged = fleet.certificate_end("ann")
            runs = [subprocess.Popen(
                [os.path.join(BUILD, "bin", "assay"), "node", "list"], stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True,
                env={**os.environ, "XDG_CONFIG_HOME": fleet.config("ann")}) for _ in range(4)]
            for run in runs:
                _, error = run.communicate(timeout=60)
                self.assertEqual(run.returncode, 0, error)
            self.assertGreater(fleet.certificate_end("ann"), aged)

        # While the coordinator is away, a valid certificate is used as it is.
        fleet.age_certificate("ann", 9)
        fleet.coordinator.stop()
        away = fleet.run_as("ann", "node", "list", code=3)
        self.assertNotIn("renew", away.stderr)
        fleet.age_certificate("ann", 13)
        expired = fleet.run_as("ann", "node", "list", code=3)
        self.assertIn("expired", expired.stderr)
        fleet.coordinator.start()
        fleet.run_as("ann", "user", "list")
        # An identity that was removed needs a new invite.
        second = fleet.first_invite("admin", "root")
        fleet.run_as("root", "login", second["url"], "--pin", second["pin"], second["token"])
        fleet.run_as("root", "user", "remove", "ann")
        fleet.age_certificate("ann", 13)
        removed = fleet.run_as("ann", "node", "list", code=4)
        self.assertIn("assay user invite", removed.stderr)

    def test_wrong_peers_are_explained(self):
        fleet = self.fleet
        def problem(*options, address=f"127.0.0.1:{fleet.port}"):
            run = fleet.run_as("nobody", "node", "list", "--coordinator", address, *options,
                               code=None)
            self.assertNotIn("Socket closed", run.stderr)
            self.assertIn(run.returncode, (2, 3, 4), run.stderr)
            return run.stderr
        self.assertIn("TLS", problem())
        ann = fleet.identity("ann")
        tls = ["--tls-ca", f"{ann}/authority.pem", "--tls-cert", f"{ann}/certificate.pem",
               "--tls-key", f"{ann}/key.pem"]
        self.assertIn("certificate", problem(*tls[:2]))
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
            self.assertIn("cannot reach", problem(*tls, address="127.0.0.1:1"))
            del silent
        other = self.open(Fleet()).start()
        self.assertIn("TLS", problem(*tls, address=other.address()))
        # A coordinator without an authority makes no invites.
        other.cli("node", "invite", code=4)
        self.assertEqual(other.refusal("IdentityService/CreateInvite"), "NO_AUTHORITY")


@unittest.skipUnless(SSHD and shutil.which("ssh"), "no sshd or ssh")
class DeployTest(FleetCase):
    """Deploys over a real sshd on loopback."""

    def start_sshd(self):
        fleet = self.fleet
        folder = fleet.path("sshd")
        os.makedirs(folder, mode=0o700)
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                            os.path.join(folder, name)], check=True)
        shutil.copy(os.path.join(folder, "user.pub"), os.path.join(folder, "authorized_keys"))
        port = free_port()
        with open(os.path.join(folder, "sshd_config"), "w", encoding="utf-8") as file:
            file.write(f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host\n"
                       f"AuthorizedKeysFile {folder}/authorized_keys\nPidFile none\n"
                       "StrictModes no\nUsePAM no\nPasswordAuthentication no\n"
                       f"SetEnv ASSAY_HOME={fleet.path('joined')}\n")
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        daemon = fleet.add("sshd", [SSHD, "-D", "-e", "-f", os.path.join(folder, "sshd_config")])
        daemon.start()
        def answers():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return True
            return False
        eventually(answers, 20, "sshd")
        # A program named ssh that adds the test's key and known hosts.
        with open(os.path.join(folder, "known_hosts"), "w", encoding="utf-8") as file, \
                open(os.path.join(folder, "host.pub"), encoding="utf-8") as key:
            file.write(f"[127.0.0.1]:{port} {key.read()}")
        wrapper = os.path.join(folder, "ssh")
        with open(wrapper, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {shutil.which('ssh')} -F none -i {folder}/user "
                       f"-o UserKnownHostsFile={folder}/known_hosts \"$@\"\n")
        os.chmod(wrapper, 0o755)
        return port, folder

    def make_archive(self):
        """Returns an archive whose agent is the one of the build."""
        root = self.fleet.path("archive")
        os.makedirs(os.path.join(root, "DEBIAN"))
        with open(os.path.join(root, "DEBIAN", "control"), "w", encoding="utf-8") as file:
            file.write("Package: assay-node\nVersion: 1\nArchitecture: amd64\n"
                       "Maintainer: tests <tests@example.com>\nDescription: a wrapper\n")
        program = os.path.join(root, "opt", "assay", "bin", "assay-agent")
        os.makedirs(os.path.dirname(program))
        agent = os.path.join(BUILD, "bin", "assay-agent")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n[ $# = 0 ] || [ $1 != join ] || {{ shift; exec {agent} join "
                       f"--data {self.data} --http 127.0.0.1:0 \"$@\"; }}\nexec {agent} \"$@\"\n")
        os.chmod(program, 0o755)
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", root, root + ".deb"],
                       check=True, capture_output=True)
        return root + ".deb"

    def stop_agent(self):
        subprocess.run([os.path.join(BUILD, "bin", "assay-agent"), "stop", "--data", self.data],
                       check=False, capture_output=True, timeout=60)

    def test_hosts_join_over_ssh(self):
        self.fleet = fleet = self.open(JoinFleet())
        self.data = fleet.path("agent-data")
        fleet.start("--node-archive", self.make_archive())
        self.addCleanup(self.stop_agent)
        fleet.login_admin()
        port, folder = self.start_sshd()
        hosts = fleet.path("hosts")
        with open(hosts, "w", encoding="utf-8") as file:
            file.write(f"# loopback\n{getpass.getuser()}@127.0.0.1:{port} name=gpu-1 label=rack=3 "
                       f"price=2\nmissing-user@127.0.0.1:{port} name=gpu-2\n")
        path = f"{folder}:{os.environ['PATH']}"
        planned = fleet.run_as("ann", "deploy", "--hosts", hosts, "--dry-run", PATH=path)
        self.assertNotIn("assay1.", planned.stdout)
        run = fleet.run_as("ann", "deploy", "--hosts", hosts, "-o", "json", code=1, PATH=path)
        results = {row["node"]: row for row in json.loads(run.stdout)}
        self.assertEqual(results["gpu-1"]["result"], "joined", results)
        self.assertEqual(results["gpu-2"]["result"], "failed")
        self.assertIn("Permission denied", results["gpu-2"]["message"])
        def settings():
            [node] = fleet.json_as("ann", "node", "list")
            return {key: node["description"].get(key) for key in ("name", "labels",
                                                                  "price_per_hour")}
        eventually(lambda: settings() == {"name": "gpu-1", "labels": {"rack": "3"},
                                          "price_per_hour": 2}, 10, "the invite's settings")
        # The invite of the host that failed cannot be used any more.
        states = {one["scope"]["name"]: "revoke_time" in one
                  for one in fleet.json_as("ann", "node", "invites")}
        self.assertEqual((states["gpu-1"], states["gpu-2"]), (False, True))
        again = fleet.run_as("ann", "deploy", "--hosts", hosts, "-o", "json", code=1, PATH=path)
        self.assertEqual(json.loads(again.stdout)[0]["result"], "skipped")


class PublicTest(FleetCase):
    """`assay up --public`, on loopback."""

    @staticmethod
    def console_status(console, token):
        """Logs in to the console. Returns the status of the response."""
        request = urllib.request.Request(
            urllib.parse.urljoin(console, "/login"), json.dumps({"token": token}).encode(),
            {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def test_first_start_and_restart(self):
        # For its folder and processes alone.
        fleet = self.open(Fleet())
        os.chmod(fleet.folder, 0o711)
        ports = [free_port(), free_port()]
        environment = {"XDG_CONFIG_HOME": fleet.path("config"), "ASSAY_COORDINATOR": "",
                       "ASSAY_CONTEXT": ""}
        up = fleet.add("up", [
            os.path.join(BUILD, "bin", "assay"), "up", "--public", "localhost", "--data",
            fleet.path("data"), "--listen", f"127.0.0.1:{ports[0]}", "--join",
            f"127.0.0.1:{ports[1]}", "--http", "127.0.0.1:0", "--console", "127.0.0.1:0"],
            env=environment)

        def assay(*arguments, code=0):
            run = subprocess.run([os.path.join(BUILD, "bin", "assay"), *arguments], text=True,
                                 capture_output=True, check=False, timeout=60,
                                 env={**os.environ, **environment})
            self.assertEqual(run.returncode, code, run.stderr)
            return run

        def rows(*arguments):
            return json.loads(assay(*arguments, "-o", "json").stdout)

        def start(times):
            up.start()
            eventually(lambda: up.said("Stop it with Ctrl-C.") == times or not up.running(), 90,
                       "the start", 0.2)
            self.assertTrue(up.running(), up.tail())
            eventually(lambda: [node["state"] for node in rows("node", "list")]
                       == ["NODE_STATE_CONNECTED"], 30, "the node", 0.2)

        start(1)
        said = up.tail()
        self.assertIn("assay node invite", said)
        for port in ports:
            self.assertIn(str(port), said)
        # Other users of this machine must not get in through the console.
        console, token = re.search(r"(http://\S+)#token=(\S+)", said).groups()
        self.assertEqual([self.console_status(console, one) for one in (token, token[:-1])],
                         [204, 401])
        [user] = rows("user", "list")
        self.assertEqual(user["role"], "admin")
        identities = rows("node", "identities")
        self.assertEqual(len(identities), 1)
        command = rows("node", "invite")["command"]
        self.assertEqual(re.findall(r"https://\S+", command),
                         [f"https://localhost:{ports[1]}/join"])
        self.assertEqual(rows("context", "show")["name"], "localhost")
        up.stop()
        assay("node", "list", code=3)

        start(2)
        self.assertEqual(rows("node", "identities")[0]["identity_id"],
                         identities[0]["identity_id"])
        self.assertEqual(len(rows("node", "invites")), 3)  # Agent, user, and that of this test.
        # Whoever has lost the context gets another user.
        up.stop()
        assay("context", "remove", "localhost")
        start(3)
        self.assertEqual(len(rows("user", "list")), 2)
        up.stop()

    def test_options_that_contradict(self):
        fleet = self.open(Fleet())
        for wrong in (["--simulate", "1"], ["--tls-cert", "/x"], ["--listen", "127.0.0.1:0"],
                      ["--join", "nowhere"]):
            run = subprocess.run([os.path.join(BUILD, "bin", "assay"), "up", "--data",
                                  fleet.path("data"), "--public", "localhost", *wrong],
                                 capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual(run.returncode, 2, run.stderr)


if __name__ == "__main__":
    if not shutil.which("openssl"):
        sys.exit(77)
    unittest.main(verbosity=2)
