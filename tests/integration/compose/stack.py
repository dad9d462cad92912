"""Reads deploy/compose, and translates its services into commands that run here, on loopback."""

import os
import re
import sys

try:
    import yaml
except ImportError:
    yaml = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
COMPOSE = os.path.join(ROOT, "deploy", "compose")
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
sys.path.insert(0, os.path.join(ROOT, "tests", "integration", "alerts"))

import harness  # noqa: E402

# Entry points of images, as Debian names the programs.
ENTRYPOINTS = {"prom/alertmanager": ["prometheus-alertmanager"]}
# Options for what an image sets by itself: the address.
ADDRESSES = {"prometheus": ("--web.listen-address=", 9090),
             "alertmanager": ("--web.listen-address=", 9093)}


def load():
    with open(os.path.join(COMPOSE, "docker-compose.yaml"), encoding="utf-8") as file:
        return yaml.safe_load(file)


def interpolate(text, **values):
    """Fills in ${NAME:-default} as Compose does."""
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda match: values.get(match[1], match[2]), text)


def mounts(service):
    """Yields source and target of the service's volumes. The source of a folder or file of this
    tree is absolute, that of a named volume is its name."""
    for volume in service.get("volumes", []):
        source, target = volume.split(":")[:2]
        if source.startswith("."):
            source = os.path.normpath(os.path.join(COMPOSE, source))
        yield source, target


class Stack:
    """Runs services of the compose file in a fleet of the harness. Its PostgreSQL must run.

    Paths of containers become paths in the fleet's folder. Every address becomes a free loopback
    port. `edit` changes the text of mounted files, by their names.
    """

    def __init__(self, fleet, edit=None, **values):
        self.fleet, self.edit, self.values = fleet, edit or {}, values
        self.services = load()["services"]
        self.ports = {}

    def port(self, number):
        if number not in self.ports:
            self.ports[number] = harness.free_port()
        return self.ports[number]

    def url(self, number, path=""):
        return f"http://127.0.0.1:{self.port(number)}{path}"

    def local_path(self, name, source, target):
        """Returns where a service finds here what is mounted at `target` in its container."""
        if os.path.isabs(source):
            return self.fleet.path("services", name) + target
        return self.fleet.path("volumes", source)

    def localise(self, name, text):
        text = re.sub(r"\b(?:0\.0\.0\.0|127\.0\.0\.1|coordinator|prometheus|alertmanager):(\d+)",
                      lambda match: f"127.0.0.1:{self.port(int(match[1]))}", text)
        text = text.replace("host=postgres", f"host=127.0.0.1 port={self.fleet.postgres.port}")
        paths = {target: self.local_path(name, source, target)
                 for source, target in mounts(self.services[name])}
        longest_first = sorted(paths, key=len, reverse=True)
        return re.sub(rf"(?<![\w./])({'|'.join(map(re.escape, longest_first))})(?=[/\"'\s]|$)",
                      lambda match: paths[match[1]], text) if paths else text

    def copy(self, name, source, target):
        """Copies a mounted file or folder, with local paths and addresses."""
        if os.path.isdir(source):
            for entry in os.listdir(source):
                self.copy(name, os.path.join(source, entry), os.path.join(target, entry))
            return
        with open(source, encoding="utf-8") as file:
            text = file.read()
        text = self.edit.get(os.path.basename(source), lambda same: same)(text)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(self.localise(name, text))
        os.chmod(target, os.stat(source).st_mode)

    def add(self, name):
        """Prepares the files of a service. Returns its process, not started."""
        service = self.services[name]
        for source, target in mounts(service):
            local = self.local_path(name, source, target)
            if os.path.isabs(source):
                self.copy(name, source, local)
            else:
                os.makedirs(local, exist_ok=True)
        image = service["image"].split(":")[0]
        command = service.get("entrypoint", ENTRYPOINTS.get(image, [])) + service["command"]
        if name in ADDRESSES:
            option, number = ADDRESSES[name]
            command = [*command, f"{option}127.0.0.1:{number}"]
        return self.fleet.add(name, [self.localise(name, word) for word in command],
                              env=self.environment(name))

    def environment(self, name):
        path = f"{os.path.join(harness.BUILD, 'bin')}:{os.environ['PATH']}"
        return {"PATH": path, **{key: self.localise(name, interpolate(value, **self.values)) for
                                 key, value in self.services[name].get("environment", {}).items()}}

    def health_check(self, name):
        """Returns the command that Compose would ask for the service's health."""
        kind, *words = self.services[name]["healthcheck"]["test"]
        words = [self.localise(name, word) for word in words]
        return ["sh", "-c", *words] if kind == "CMD-SHELL" else words
