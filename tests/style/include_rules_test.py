"""Checks which room may include which, and that a source includes its own header first.

The first row whose prefix matches a file lists what the file may include: rooms of the tree by
prefix, and the external libraries that only few rooms may use.
"""

import os
import re

import tree

# External libraries that only some rooms may include, by the prefix of their headers.
LIBRARIES = {
    "grpc": ("grpcpp/", "grpc/", "grpc++/"),
    "pqxx": ("pqxx/", "pqxx", "libpq"),
    "cuda": ("cuda", "cublas", "cooperative_groups", "nvml", "curand"),
    "nccl": ("nccl",),
    "prometheus": ("prometheus/",),
    "absl": ("absl/",),
}

CORE = {"common", "model", "wire", "messages"}
# The entry points of programs, which may include all of their program.
COORDINATOR_MAIN = CORE | {"coordinator", "http", "identity", "storage", "storage/postgres", "grpc",
                           "prometheus"}
AGENT_MAIN = CORE | {"agent", "host", "http", "identity", "grpc", "prometheus"}
BENCHMARK = {"common", "host", "model", "measure", "kernels"}

# (prefix of the including file, what it may include besides its own folder)
RULES = [
    ("common/", set()),
    ("host/", {"common"}),
    ("model/", {"common"}),
    ("gang/", {"common"}),
    ("identity/enrolled", CORE | {"identity"}),
    ("identity/join_client", CORE | {"identity"}),
    ("identity/", {"common"}),
    ("measure/", {"common", "host"}),
    ("roofline/", {"common", "model"}),
    ("predict/", {"common", "model", "roofline"}),
    ("wire/acceptor", {"common", "grpc"}),
    ("wire/access", {"common", "wire", "grpc"}),
    ("wire/credentials", {"common", "wire", "grpc"}),
    ("wire/status_conversion", {"common", "model", "messages", "grpc"}),
    ("wire/", {"common", "model", "messages"}),
    ("analysis/pair_report", CORE | {"analysis"}),
    ("analysis/", {"common", "model", "measure"}),
    ("kernels/cpu/", BENCHMARK),
    ("kernels/net/", BENCHMARK | {"gang"}),
    ("kernels/nccl/", BENCHMARK | {"gang", "cuda", "nccl"}),
    ("kernels/cuda/links/", BENCHMARK | {"gang", "cuda"}),
    ("kernels/cuda/", BENCHMARK | {"cuda"}),
    ("kernels/", BENCHMARK | {"gang"}),
    ("runner/", {"common", "host", "model", "kernels", "gang", "measure", "roofline", "wire",
                 "messages"}),
    ("agent/core/", {"common", "host", "model", "wire", "messages"}),
    ("agent/rpc/", CORE | {"agent/core", "grpc"}),
    ("agent/metrics/", CORE | {"host", "agent/core", "http", "prometheus"}),
    ("agent/simulate/", CORE | {"agent", "kernels", "measure", "roofline", "runner", "grpc"}),
    ("agent/", AGENT_MAIN),
    ("storage/postgres/", CORE | {"storage", "pqxx"}),
    ("storage/", CORE),
    ("campaign/cron", {"common", "absl"}),
    ("campaign/", CORE | {"storage"}),
    ("coordinator/core/estimator", CORE | {"campaign", "coordinator/core", "storage", "measure"}),
    ("coordinator/core/figures/roofline", CORE | {"campaign", "coordinator/core", "storage",
                                                  "roofline"}),
    ("coordinator/core/enrolment", CORE | {"coordinator/core", "storage", "identity"}),
    ("coordinator/core/", CORE | {"campaign", "storage", "analysis"}),
    ("coordinator/rpc/", CORE | {"coordinator/core", "grpc"}),
    ("coordinator/web/join_server", CORE | {"coordinator/core", "coordinator/web", "http"}),
    ("coordinator/web/", CORE | {"coordinator/rpc", "http", "grpc"}),
    ("coordinator/metrics/", CORE | {"coordinator/core", "http", "storage", "prometheus"}),
    ("coordinator/", COORDINATOR_MAIN),
    ("cli/imports/", CORE | {"host", "cli", "grpc"}),
    ("cli/", CORE | {"campaign", "roofline", "predict", "analysis", "identity", "grpc"}),
    ("http/", {"common", "prometheus"}),
]

PARTS = ("common", "host", "model", "wire", "identity", "gang", "measure", "roofline", "predict",
         "analysis", "http",
         "kernels", "runner", "storage", "campaign", "coordinator", "agent", "cli", "tests")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def library_of(header):
    for library, prefixes in LIBRARIES.items():
        if header.startswith(prefixes):
            return library
    return None


def allowed(path, header, system, rule):
    prefix, targets = rule
    if header.endswith(".grpc.pb.h"):
        return "grpc" in targets
    if header.endswith(".pb.h") and header.startswith("assay/"):
        return "messages" in targets
    if not system and header.startswith(tuple(part + "/" for part in PARTS)):
        if header.startswith(prefix):
            return True
        # storage/postgres has its own row, because only main.cc may include it.
        if header.startswith("storage/postgres/"):
            return "storage/postgres" in targets
        return any(header.startswith(target + "/") for target in targets)
    library = library_of(header)
    if library is None or not system and "/" in header and header.split("/")[0] in PARTS:
        return True
    return library in targets


def main():
    faults = []
    for path in tree.files(".h", ".cc", ".cu", ".cuh"):
        rule = next((rule for rule in RULES if path.startswith(rule[0])), None)
        if rule is None:
            continue  # Tests may include anything.
        text = tree.read(path)
        own = os.path.splitext(path)[0] + ".h"
        if path.endswith(".cc") and os.path.exists(os.path.join(tree.ROOT, own)):
            first = INCLUDE.search(text)
            if first is None or first.group(2) != own:
                faults.append(f"{path}: includes its own header, {own}, not first")
        for match in INCLUDE.finditer(text):
            system, header = match.group(1) == "<", match.group(2)
            if not allowed(path, header, system, rule):
                line = text.count("\n", 0, match.start(2)) + 1
                faults.append(f"{path}:{line}: {rule[0]} may not include {header} "
                              f"(may: {', '.join(sorted(rule[1]))})")
    tree.finish(faults)


if __name__ == "__main__":
    main()
