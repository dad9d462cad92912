"""Checks the manifests of deploy/kubernetes: against Kubernetes' types, with TypeScript, and that
what refers to each other exists. joining_test.py executes their entry scripts.

Skipped without node, npm and PyYAML, and where the packages cannot be fetched.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import npm_packages  # noqa: E402

try:
    import yaml
except ImportError:
    npm_packages.skip("it needs PyYAML (Debian: python3-yaml)")

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("ASSAY_BUILD", os.path.join(ROOT, "build"))
KUBERNETES = os.path.join(ROOT, "deploy", "kubernetes")
TSCONFIG = {"compilerOptions": {"target": "ES2022", "module": "ESNext", "strict": True,
                                "moduleResolution": "Bundler", "skipLibCheck": True,
                                "noEmit": True, "types": []},
            "include": ["*.ts"]}
# Where kubernetes-types declares each kind.
MODULES = {"v1": "core/v1", "apps/v1": "apps/v1"}


def documents():
    found = []
    for path in sorted(glob.glob(os.path.join(KUBERNETES, "*.yaml"))):
        with open(path, encoding="utf-8") as file:
            found += list(yaml.safe_load_all(file))
    return found


class Manifests(unittest.TestCase):
    def setUp(self):
        self.documents = documents()
        self.kinds = {}
        for document in self.documents:
            self.kinds.setdefault(document["kind"], []).append(document)
        self.pods = [document["spec"]["template"] for document in self.documents
                     if "template" in document["spec"]]

    def test_types(self):
        folder = os.path.join(BUILD, "kubernetes-types")
        node = npm_packages.install(os.path.join(HERE, "types"), folder)
        for path in glob.glob(os.path.join(folder, "*.ts")):
            os.remove(path)
        for number, document in enumerate(self.documents):
            kind = document["kind"]
            module = MODULES[document["apiVersion"]]
            with open(os.path.join(folder, f"{number}_{kind}.ts"), "w", encoding="utf-8") as file:
                file.write(f'import type {{ {kind} }} from "kubernetes-types/{module}";\n'
                           f"export const it: {kind} = {json.dumps(document, indent=2)};\n")
        with open(os.path.join(folder, "tsconfig.json"), "w", encoding="utf-8") as file:
            json.dump(TSCONFIG, file)
        run = subprocess.run([node, "node_modules/typescript/bin/tsc", "-p", "."], cwd=folder,
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_everything_is_in_one_namespace(self):
        for document in self.documents:
            self.assertEqual(document["metadata"]["namespace"], "assay")

    def test_selectors_match_pods(self):
        labels = [pod["metadata"]["labels"] for pod in self.pods]
        for document in self.documents:
            selector = document["spec"].get("selector")
            if selector is not None:
                self.assertIn(selector.get("matchLabels", selector), labels)

    def test_mounts_claims_and_ports_exist(self):
        claims = {claim["metadata"]["name"] for claim in self.kinds["PersistentVolumeClaim"]}
        ports = set()
        for pod in self.pods:
            volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
            for volume in volumes.values():
                if "persistentVolumeClaim" in volume:
                    self.assertIn(volume["persistentVolumeClaim"]["claimName"], claims)
            for container in pod["spec"]["containers"]:
                mounted = {mount["name"] for mount in container["volumeMounts"]}
                self.assertEqual(mounted, set(volumes))
                ports |= {port["name"] for port in container.get("ports", [])}
        for service in self.kinds["Service"]:
            for port in service["spec"]["ports"]:
                self.assertIn(port["targetPort"], ports)

    def test_containers_have_few_rights(self):
        for pod in self.pods:
            self.assertFalse(pod["spec"]["automountServiceAccountToken"])
            for container in pod["spec"]["containers"]:
                context = container["securityContext"]
                self.assertFalse(context["allowPrivilegeEscalation"])
                self.assertTrue(context["readOnlyRootFilesystem"])
                self.assertEqual(context["capabilities"], {"drop": ["ALL"]})

    def test_coordinator_takes_the_arguments(self):
        (deployment,) = self.kinds["Deployment"]
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        with tempfile.TemporaryDirectory() as folder:
            arguments = [argument.replace("/var/lib/assay", folder)
                         for argument in container["args"]]
            run = subprocess.run(
                [os.path.join(BUILD, "bin", "assay-coordinator"), *arguments],
                capture_output=True, text=True, check=False,
                env={name: value for name, value in os.environ.items()
                     if name != "ASSAY_DATABASE"})
        # The database is checked after the arguments.
        self.assertIn("ASSAY_DATABASE", run.stderr)

    def test_images_are_built_from_files_of_the_tree(self):
        with open(os.path.join(KUBERNETES, "Dockerfile"), encoding="utf-8") as file:
            text = file.read()
        for image in re.findall(r"^FROM (\S+)", text, re.MULTILINE):
            self.assertRegex(image, r":v?\d+\.\d+")
        for sources in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
            for source in sources.split():
                # dist/ has what ./dev bundle makes.
                if not source.startswith("dist/assay-"):
                    self.assertTrue(os.path.exists(os.path.join(ROOT, source)), source)


if __name__ == "__main__":
    unittest.main()
