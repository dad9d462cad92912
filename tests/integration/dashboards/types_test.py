"""Checks the dashboards' JSON against the types of @grafana/schema, with TypeScript.

Installs the packages that types/package-lock.json lists into grafana-types of the build folder, once.
Skipped without node and npm, and where the packages cannot be fetched.
"""

import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("ASSAY_BUILD", os.path.join(ROOT, "build"))
SKIPPED = 77
OFFLINE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH",
           "ENOTCACHED")
TSCONFIG = """{
  "compilerOptions": {
    "target": "ES2022", "module": "ESNext", "moduleResolution": "Bundler", "strict": true,
    "skipLibCheck": true, "noEmit": true, "types": []
  },
  "include": ["*.ts"]
}
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def differs(name, folder):
    """Tells if a file of types/ is not yet in the folder as it is."""
    target = os.path.join(folder, name)
    if not os.path.isfile(target):
        return True
    with open(os.path.join(HERE, "types", name), "rb") as wanted, open(target, "rb") as found:
        return wanted.read() != found.read()


def install(npm, folder):
    os.makedirs(folder, exist_ok=True)
    packages = ("package.json", "package-lock.json")
    installed = os.path.join(folder, "node_modules", ".package-lock.json")
    if os.path.isfile(installed) and not any(differs(name, folder) for name in packages):
        return
    for name in packages:
        shutil.copyfile(os.path.join(HERE, "types", name), os.path.join(folder, name))
    run = subprocess.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode:
        os.remove(os.path.join(folder, "package-lock.json"))
        if any(code in run.stderr for code in OFFLINE):
            skip(f"npm cannot fetch the packages: {run.stderr.strip().splitlines()[0]}")
        sys.exit(run.stdout + run.stderr)


def write_sources(folder, boards):
    """Writes the sources, and removes those of dashboards that are gone."""
    for path in glob.glob(os.path.join(folder, "*.ts")):
        os.remove(path)
    shutil.copyfile(os.path.join(HERE, "types", "board.ts"), os.path.join(folder, "board.ts"))
    with open(os.path.join(folder, "tsconfig.json"), "w", encoding="utf-8") as file:
        file.write(TSCONFIG)
    for board in boards:
        stem = os.path.basename(board).removesuffix(".json")
        with open(board, encoding="utf-8") as file:
            text = file.read()
        # One line less than the JSON, so that line numbers differ by one.
        with open(os.path.join(folder, f"{stem}.json.ts"), "w", encoding="utf-8") as file:
            file.write('import type { Board } from "./board";\nexport const board: Board = ' + text)


def main(boards):
    node, npm = shutil.which("node") or shutil.which("nodejs"), shutil.which("npm")
    if not node or not npm:
        skip("it needs node and npm (Debian: nodejs, npm)")
    folder = os.path.join(BUILD, "grafana-types")
    install(npm, folder)
    write_sources(folder, boards)
    run = subprocess.run([node, "node_modules/typescript/bin/tsc", "-p", "."], cwd=folder,
                         capture_output=True, text=True, check=False)
    print(run.stdout, end="")
    print(f"{len(boards)} dashboards, {run.stdout.count('error TS')} faults")
    sys.exit(1 if run.returncode else 0)


if __name__ == "__main__":
    main(sys.argv[1:] or sorted(glob.glob(os.path.join(ROOT, "dashboards", "*.json"))))
