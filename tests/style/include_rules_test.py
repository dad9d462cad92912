"""Who may include whom: the layers of Assay, as a table and a check.

The first row whose prefix matches a file names what it may include: parts of the
tree by prefix, and the external libraries that are kept to few places.
"""

import re

import tree

# External libraries that only some parts may see, by the headers' prefix.
LIBRARIES = {
    "grpc": ("grpcpp/", "grpc/", "grpc++/"),
    "pqxx": ("pqxx/", "pqxx", "libpq"),
    "cuda": ("cuda", "cublas", "cooperative_groups", "nvml", "curand"),
    "nccl": ("nccl",),
    "prometheus": ("prometheus/",),
}

CORE = {"common", "schema", "storage", "messages"}
# Programs' entry points put everything of their own side together.
COORDINATOR_MAIN = CORE | {"coordinator", "rpc", "http", "storage/postgres", "grpc", "prometheus"}
AGENT_MAIN = CORE | {"agent", "rpc", "http", "grpc", "prometheus"}

# (prefix of the including file, what it may include besides its own folder)
RULES = [
    ("common/", {"common"}),
    ("schema/", {"common", "messages"}),
    ("rpc/", {"common", "schema", "messages", "grpc"}),
    ("http/", {"common", "prometheus"}),
    ("imports/", {"common", "messages"}),
    ("kernels/runner/", {"common", "schema", "kernels", "messages"}),
    ("kernels/cuda/", {"common", "kernels", "cuda"}),
    ("kernels/nccl/", {"common", "kernels", "cuda", "nccl"}),
    ("kernels/", {"common", "kernels"}),
    ("storage/postgres/", CORE | {"pqxx"}),
    ("storage/", CORE),
    ("coordinator/core/", CORE),
    ("coordinator/rpc/", CORE | {"coordinator/core", "rpc", "grpc"}),
    ("coordinator/metrics/", CORE | {"coordinator/core", "http", "prometheus"}),
    ("coordinator/", COORDINATOR_MAIN),
    ("agent/core/", {"common", "schema", "messages"}),
    ("agent/rpc/", {"common", "schema", "messages", "agent/core", "rpc", "grpc"}),
    ("agent/metrics/", {"common", "schema", "messages", "agent/core", "agent/nvml", "http",
                        "prometheus"}),
    ("agent/nvml/", {"common", "messages", "agent/core"}),
    ("agent/sim/", {"common", "schema", "messages", "agent/core"}),
    ("agent/", AGENT_MAIN),
    ("cli/", {"common", "schema", "imports", "rpc", "messages", "grpc", "kernels/roofline"}),
]

PARTS = ("common", "schema", "rpc", "http", "imports", "kernels", "storage", "coordinator", "agent",
         "cli", "tests")
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
        # storage/postgres is named apart from storage: only main.cc puts it in place.
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
        for match in INCLUDE.finditer(text):
            system, header = match.group(1) == "<", match.group(2)
            if not allowed(path, header, system, rule):
                line = text.count("\n", 0, match.start(2)) + 1
                faults.append(f"{path}:{line}: {rule[0]} may not include {header} "
                              f"(may: {', '.join(sorted(rule[1]))})")
    tree.finish(faults)


if __name__ == "__main__":
    main()
