"""Checks deploy/compose without Docker: the compose file's own rules, every path and name that it
mentions, the provisioning of Grafana, and the configurations of Prometheus and Alertmanager with
their own tools. stack_test.py runs the commands."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from stack import COMPOSE, ROOT, interpolate, load, mounts, yaml

SKIPPED = 77
ONE_SHOT = {"nights"}
# The simulator serves nothing. It ends if it cannot go on.
UNCHECKED = ONE_SHOT | {"fleet-h200", "fleet-h100"}
RULES = os.path.join(ROOT, "deploy", "prometheus")
PINNED = re.compile(r":v?\d+\.\d+")


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def ports(service):
    """Yields host address, host port and container port of the published ports."""
    for port in service.get("ports", []):
        host, outside, inside = port.split(":")
        yield host, int(outside), int(inside)


class ComposeFileTest(unittest.TestCase):
    def setUp(self):
        self.file = load()
        self.services = self.file["services"]

    def test_everything_is_there(self):
        self.assertEqual(set(self.services), {
            "postgres", "coordinator", "console", "fleet-h200", "fleet-h100", "nights",
            "prometheus", "alertmanager", "grafana"})

    def test_images_are_pinned(self):
        for service in self.services.values():
            if "build" not in service:
                self.assertRegex(service["image"], PINNED)
        for image in re.findall(r"^FROM (\S+)", read(COMPOSE, "Dockerfile"), re.MULTILINE):
            self.assertRegex(image, PINNED)

    def test_services_restart_and_report_their_health(self):
        for name, service in self.services.items():
            self.assertEqual(service["restart"],
                             "no" if name in ONE_SHOT else "unless-stopped", name)
            if name not in UNCHECKED:
                self.assertIn(service["healthcheck"]["test"][0], ("CMD", "CMD-SHELL"), name)

    def test_dependencies_are_healthy_services(self):
        for service in self.services.values():
            for other, condition in service.get("depends_on", {}).items():
                self.assertEqual(condition, {"condition": "service_healthy"})
                self.assertTrue(self.services[other]["healthcheck"]["test"], other)

    def test_ports_are_published_on_loopback_alone(self):
        outside = []
        for service in self.services.values():
            for host, port, _ in ports(service):
                self.assertEqual(host, "127.0.0.1")
                outside.append(port)
        self.assertEqual(sorted(outside), [3000, 7900, 7980, 9090, 9093, 9900])

    def test_passwords_can_be_set(self):
        for service in self.services.values():
            for name, value in service.get("environment", {}).items():
                if "PASSWORD" in name:
                    self.assertRegex(value, r"^\$\{ASSAY_\w+_PASSWORD:-\w+\}$")
        database = self.services["coordinator"]["environment"]["ASSAY_DATABASE"]
        parameters = dict(word.split("=", 1) for word in database.split())
        self.assertRegex(parameters["password"], r"^\$\{ASSAY_DB_PASSWORD:-\w+\}$")
        self.assertEqual(parameters["password"],
                         self.services["postgres"]["environment"]["POSTGRES_PASSWORD"])

    def test_mounted_paths_exist_and_volumes_are_declared(self):
        used = set()
        for service in self.services.values():
            for volume in service.get("volumes", []):
                name = volume.split(":")[0]
                if not name.startswith("."):
                    used.add(name)
                    continue
                self.assertTrue(volume.endswith(":ro"), volume)
            for source, _ in mounts(service):
                if os.path.isabs(source):
                    self.assertTrue(os.path.exists(source), source)
        self.assertEqual(used, set(self.file["volumes"]))

    def test_paths_in_commands_are_mounted(self):
        for service in self.services.values():
            targets = tuple(target for _, target in mounts(service))
            for word in [*service.get("entrypoint", []), *service.get("command", [])]:
                path = word.split("=")[-1]
                if path.startswith("/") and not path.startswith("/bin/"):
                    self.assertTrue(path.startswith(targets), f"{path} of {targets}")

    def test_scripts_can_be_run_and_read_only_what_is_there(self):
        for path in glob.glob(os.path.join(COMPOSE, "demo", "*.sh")):
            self.assertTrue(os.access(path, os.X_OK), path)
            for name in re.findall(r"/demo/([\w.-]+\.\w+)", read(path)):
                self.assertTrue(os.path.exists(os.path.join(COMPOSE, "demo", name)), name)
        for name in ("h200", "h100"):
            self.assertEqual(self.services[f"fleet-{name}"]["command"][:2],
                             ["/demo/fleet.sh", name])
            self.assertTrue(os.path.exists(os.path.join(COMPOSE, "demo", f"{name}.yaml")))
            self.assertTrue(os.path.exists(os.path.join(
                ROOT, "agent", "simulate", "profiles", f"8x-{name}.textproto")))

    def test_compose_accepts_the_file(self):
        if subprocess.run(["docker", "compose", "version"], capture_output=True,
                          check=False).returncode if shutil.which("docker") else True:
            self.skipTest("the plugin docker compose is absent")
        subprocess.run(["docker", "compose", "-f", os.path.join(COMPOSE, "docker-compose.yaml"),
                        "config", "--quiet"], check=True)


class GrafanaTest(unittest.TestCase):
    def setUp(self):
        self.services = load()["services"]
        self.sources = yaml.safe_load(read(
            COMPOSE, "grafana", "provisioning", "datasources", "assay.yaml"))["datasources"]
        self.boards = [json.loads(read(path)) for path in
                       glob.glob(os.path.join(ROOT, "dashboards", "*.json"))]

    def test_data_sources_are_services(self):
        for source in self.sources:
            host, port = source["url"].removeprefix("http://").split(":")
            self.assertIn(host, self.services)
            self.assertIn(port, ("9090", "5432"))

    def test_dashboards_choose_provisioned_data_sources(self):
        provisioned = {(source["type"], source["uid"]) for source in self.sources}
        self.assertTrue(self.boards)
        for board in self.boards:
            for variable in board["templating"]["list"]:
                if variable["type"] != "datasource" or not variable.get("current"):
                    continue
                with self.subTest(board=board["title"], variable=variable["name"]):
                    self.assertIn((variable["query"], variable["current"]["value"]), provisioned)

    def test_dashboards_are_mounted_where_the_provider_looks(self):
        provider = yaml.safe_load(read(
            COMPOSE, "grafana", "provisioning", "dashboards", "assay.yaml"))["providers"][0]
        targets = {target: source for source, target in mounts(self.services["grafana"])}
        self.assertEqual(targets[provider["options"]["path"]], os.path.join(ROOT, "dashboards"))
        uids = [board["uid"] for board in self.boards]
        self.assertEqual(len(uids), len(set(uids)))

    def test_reader_has_one_password(self):
        passwords = {interpolate(self.services[name]["environment"]["ASSAY_READER_PASSWORD"])
                     for name in ("postgres", "grafana")}
        self.assertEqual(len(passwords), 1)


class PrometheusTest(unittest.TestCase):
    def test_configuration_and_rules_of_the_demonstration(self):
        with tempfile.TemporaryDirectory() as folder:
            config = os.path.join(folder, "prometheus.yml")
            shutil.copy(os.path.join(COMPOSE, "prometheus.yml"), config)
            script = read(COMPOSE, "demo", "prometheus.sh")
            pattern, replacement = re.search(r"sed 's/(.*)/(.*)/g'", script).groups()
            changed = read(RULES, "alerts.yaml").replace(pattern, replacement)
            # Whatever else the rules say about simulated nodes, the script would miss it.
            self.assertEqual(set(re.findall(r"simulated *(?:=|!)[=~!]*", changed)), {"simulated="})
            self.assertNotIn('simulated=""', changed)
            with open(os.path.join(folder, "alerts.yaml"), "w", encoding="utf-8") as file:
                file.write(changed)
            mounted = {target for _, target in mounts(load()["services"]["prometheus"])}
            rules = yaml.safe_load(read(config))["rule_files"]
            paths = {f"/etc/prometheus/{name}" for name in rules}
            self.assertLessEqual(paths, mounted)
            self.assertLessEqual(paths, set(re.findall(r"/etc/prometheus/[\w./-]+", script)))
            for name in rules:
                if name != "alerts.yaml":
                    shutil.copy(os.path.join(RULES, name), folder)
            run = subprocess.run(["promtool", "check", "config", config], capture_output=True,
                                 text=True, check=False)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_jobs_are_those_of_the_rules(self):
        config = yaml.safe_load(read(COMPOSE, "prometheus.yml"))
        jobs = {job["job_name"] for job in config["scrape_configs"]}
        named = set(re.findall(r'job="([\w-]+)"', read(RULES, "alerts.yaml")))
        self.assertEqual(named - jobs, set())

    def test_targets_are_services(self):
        config = read(COMPOSE, "prometheus.yml")
        services = load()["services"]
        targets = re.findall(r"\b([a-z]+):(\d+)\b", config)
        self.assertTrue(targets)
        for host, port in targets:
            self.assertIn(int(port), [inside for _, _, inside in ports(services[host])])


class AlertmanagerTest(unittest.TestCase):
    PATH = os.path.join(COMPOSE, "alertmanager.yml")

    def test_configuration(self):
        run = subprocess.run(["amtool", "check-config", self.PATH], capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_sends_nothing_until_a_receiver_is_filled_in(self):
        for receiver in yaml.safe_load(read(self.PATH))["receivers"]:
            self.assertEqual(set(receiver), {"name"})

    def test_examples_are_valid(self):
        """Removes the comment signs in front of the examples and names them in the routes."""
        text = re.sub(r"^  # (- name|  )", r"  \1", read(self.PATH), flags=re.MULTILINE)
        text = text.replace("receiver: nobody", "receiver: chat", 1)
        text = text.replace("receiver: nobody", "receiver: mail", 1)
        with tempfile.NamedTemporaryFile("w", suffix=".yml", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            run = subprocess.run(["amtool", "check-config", file.name], capture_output=True,
                                 text=True, check=False)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        receivers = yaml.safe_load(text)["receivers"]
        self.assertEqual([set(receiver) for receiver in receivers], [
            {"name"}, {"name", "webhook_configs"}, {"name", "email_configs"}])


if __name__ == "__main__":
    absent = [name for name in ("promtool", "amtool") if not shutil.which(name)]
    if absent or yaml is None:
        print(f"absent: {', '.join(absent) or 'PyYAML'}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
