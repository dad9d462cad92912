"""Checks that every public header compiles alone.

If any source includes a header first, the build proves that. Each other header becomes a
translation unit of one line, which is checked for syntax only.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess

import tree

# Headers that need a CUDA compiler, and headers that are private to their room.
SKIPPED = ("kernels/cuda/", "kernels/nccl/", "tests/")
FIRST_INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)


def proven_by_the_build():
    found = (FIRST_INCLUDE.search(tree.read(path)) for path in tree.files(".cc"))
    return {first.group(1) for first in found if first}


def compile_alone(header, compiler, build):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-O0", "-x", "c++", "-I", tree.ROOT,
               "-isystem", os.path.join(build, "generated"), "-"]
    run = subprocess.run(command, input=f'#include "{header}"\n', capture_output=True, text=True,
                         cwd=tree.ROOT)
    if run.returncode == 0:
        return None
    return f"{header}: does not compile alone\n{run.stderr[:2000]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--compiler", required=True)
    arguments = parser.parse_args()
    proven = proven_by_the_build()
    headers = [path for path in tree.files(".h")
               if not path.startswith(SKIPPED) and path not in proven]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = pool.map(
            lambda header: compile_alone(header, arguments.compiler, arguments.build), headers)
    print(f"{len(headers)} headers compiled alone")
    tree.finish([fault for fault in outcomes if fault])


if __name__ == "__main__":
    main()
