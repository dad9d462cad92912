"""Checks that docs/reference/campaign.schema.json and the reader of `assay` accept the same campaign
files: every example, and small files that are right or wrong in one point."""

import json
import os
import subprocess
import sys
import tempfile

import jsonschema
import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMA = os.path.join(ROOT, "docs/reference/campaign.schema.json")
NAME = "name: x\n"
GOOD = "name: x\nbenchmarks:\n  - gemm: {m: 4096}\n"
EXIT_USAGE, EXIT_UNREACHABLE = 2, 3

RIGHT = {
    "a name alone": NAME + "benchmarks: [cpu_gemm]",
    "a parameter of each form": NAME + (
        "benchmarks:\n  - gemm: {m: [1, 2], n: =m, k: {from: 1, to: 8, factor: 2}, dtype: bf16}\n"
        "  - all_reduce: {bytes: {from: 8, to: 1GiB, step: 8}}"),
    "an entry without parameters": NAME + "benchmarks:\n  - gemm:\n",
    "what an entry overrides": NAME + (
        "benchmarks:\n  - gemm: {gpus: [0, 1], counters: true, unplaceable: skip}\n"
        "  - all_reduce: {gpus: 1, nccl: {NCCL_ALGO: Ring}}"),
    "nodes": GOOD + "nodes: 'gpu.model = \"H200\"'",
    "placement": GOOD + "placement: pairs",
    "exclusive": GOOD + "exclusive: gpu",
    "repetitions": GOOD + "repetitions: 1000",
    "timeout": GOOD + "timeout: 1h30m",
    "retries": GOOD + "retries: 10",
    "priority": GOOD + "priority: -100",
    "unplaceable": GOOD + "unplaceable: skip",
    "counters": GOOD + "counters: false",
    "mixed_gpus": GOOD + "mixed_gpus: true",
    "effort": GOOD + "effort: quick",
    "nccl": GOOD + "nccl: {NCCL_ALGO: Ring, NCCL_IB_DISABLE: 1}",
    "accept": GOOD + "accept: ['gemm.tflops >= 65% of spec']",
}
WRONG = {
    "an empty file": "",
    "a list": "- gemm",
    "no name": "benchmarks: [gemm]",
    "no benchmarks": NAME,
    "an empty name": "name: ''\nbenchmarks: [gemm]",
    "an empty list of benchmarks": NAME + "benchmarks: []",
    "benchmarks as a map": NAME + "benchmarks: {gemm: {m: 1}}",
    "two names in one entry": NAME + "benchmarks:\n  - gemm: {m: 1}\n    gemv: {m: 1}",
    "a benchmark in capitals": NAME + "benchmarks: [GEMM]",
    "parameters as a list": NAME + "benchmarks:\n  - gemm: [1, 2]",
    "an empty list of values": NAME + "benchmarks:\n  - gemm: {m: []}",
    "a range without an end": NAME + "benchmarks:\n  - gemm: {m: {from: 1, factor: 2}}",
    "a range of both kinds": NAME + "benchmarks:\n  - gemm: {m: {from: 1, to: 8, factor: 2, step: 1}}",
    "a range of neither kind": NAME + "benchmarks:\n  - gemm: {m: {from: 1, to: 8}}",
    "an unknown part of a range": NAME + "benchmarks:\n  - gemm: {m: {from: 1, to: 8, times: 2}}",
    "a GPU twice": NAME + "benchmarks:\n  - gemm: {gpus: [0, 0]}",
    "a negative GPU": NAME + "benchmarks:\n  - gemm: {gpus: -1}",
    "an unknown field": GOOD + "node: g1",
    "an unknown placement": GOOD + "placement: everywhere",
    "no repetitions": GOOD + "repetitions: 0",
    "too many repetitions": GOOD + "repetitions: 1001",
    "half a repetition": GOOD + "repetitions: 1.5",
    "a timeout without a unit": GOOD + "timeout: 20",
    "too many retries": GOOD + "retries: 11",
    "too high a priority": GOOD + "priority: 101",
    "counters in words": GOOD + "counters: often",
    "an empty map of variables": GOOD + "nccl: {}",
    "a variable in small letters": GOOD + "nccl: {nccl_algo: Ring}",
    "a rule that is no list": GOOD + "accept: 'gemm.tflops >= 1 TFLOP/s'",
}


def examples():
    folder = os.path.join(ROOT, "examples")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".yaml"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield name, file.read()


class Judges:
    """Asks the schema and the program whether they accept a campaign."""

    def __init__(self, assay, folder):
        with open(SCHEMA, encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.Draft7Validator.check_schema(schema)
        self._schema = jsonschema.Draft7Validator(schema)
        self._assay, self._path = assay, os.path.join(folder, "campaign.yaml")

    def schema_takes(self, text):
        return self._schema.is_valid(yaml.safe_load(text))

    def program_takes(self, text):
        """A file without faults is sent, but no coordinator listens at the address (status 3)."""
        with open(self._path, "w", encoding="utf-8") as file:
            file.write(text)
        run = subprocess.run([self._assay, "campaign", "submit", self._path, "--dry-run",
                              "--coordinator", "127.0.0.1:1"], capture_output=True, check=False)
        assert run.returncode in (EXIT_USAGE, EXIT_UNREACHABLE), run
        return run.returncode == EXIT_UNREACHABLE


def main():
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        judges = Judges(sys.argv[1], folder)
        cases = [(name, text, True) for name, text in [*examples(), *RIGHT.items()]]
        cases += [(name, text, False) for name, text in WRONG.items()]
        for name, text, right in cases:
            for judge in (judges.schema_takes, judges.program_takes):
                if judge(text) != right:
                    faults.append(f"{name}: {judge.__name__} is {not right}, not {right}")
    print(*faults, f"{len(cases)} campaigns, {len(faults)} faults", sep="\n")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
