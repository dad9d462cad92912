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
sys.path.insert(0, os.path.dirname(HERE))
import npm_packages  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("ASSAY_BUILD", os.path.join(ROOT, "build"))
TSCONFIG = """{
  "compilerOptions": {
    "target": "ES2022", "module": "ESNext", "moduleResolution": "Bundler", "strict": true,
    "skipLibCheck": true, "noEmit": true, "types": []
  },
  "include": ["*.ts"]
}
"""


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
    folder = os.path.join(BUILD, "grafana-types")
    node = npm_packages.install(os.path.join(HERE, "types"), folder)
    write_sources(folder, boards)
    run = subprocess.run([node, "node_modules/typescript/bin/tsc", "-p", "."], cwd=folder,
                         capture_output=True, text=True, check=False)
    print(run.stdout, end="")
    print(f"{len(boards)} dashboards, {run.stdout.count('error TS')} faults")
    sys.exit(1 if run.returncode else 0)


if __name__ == "__main__":
    main(sys.argv[1:] or sorted(glob.glob(os.path.join(ROOT, "dashboards", "*.json"))))
