#!/usr/bin/env python3
"""What tools/bundle.sh checks and writes about the files of an archive.

  bundle_papers.py check FOLDER          symbol versions and libraries that the files need
  bundle_papers.py write FOLDER ORIGINS NAME VERSION COMMIT SECONDS PRESET
                                         NOTICES, SPDX document and MANIFEST; ORIGINS has a line
                                         "shipped path<TAB>path on this machine" per copied file
  bundle_papers.py audit SPDX...         packages that Debian has in a newer version by now
"""
import collections
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LICENCES = os.path.join(HERE, "bundle_licences.txt")
# What the archives promise to run on: Ubuntu 22.04's C library, C++ library and compiler runtime.
NEWEST = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
PROMISED = r"Name: (" + "|".join(NEWEST) + r")_(\d[\d.]*)\b"
# Libraries of the host; docs/decisions/0015 says why those of C++ are not in the archives.
OF_THE_HOST = re.compile(
    r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s)\.so\.\d+")
# Headers that are compiled into our programs without a library of their own.
COMPILED_IN = ["libcli11-dev", "nlohmann-json3-dev"]


def fail(text):
    sys.exit(f"bundle: {text}")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def files_of(folder):
    """Paths of all files relative to `folder`, sorted; symbolic links are left out."""
    found = []
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            if not os.path.islink(path):
                found.append(os.path.relpath(path, folder))
    return sorted(found)


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def check(folder):
    """Fails if a file needs more of its host than is promised."""
    elfs = [path for path in files_of(folder) if is_elf(os.path.join(folder, path))]
    shipped = {os.path.basename(path) for path in elfs}
    wrong, most = [], {}
    for path in elfs:
        full = os.path.join(folder, path)
        for name, version in re.findall(PROMISED, run("readelf", "-VW", full)):
            needed = tuple(map(int, version.split(".")))
            most[name] = max(most.get(name, ()), needed)
            if needed > NEWEST[name]:
                wrong.append(f"{path} needs {name}_{version}")
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", full)):
            if name not in shipped and not OF_THE_HOST.fullmatch(name):
                wrong.append(f"{path} needs {name}, which is not in the archive")
    if wrong:
        fail("this machine's libraries are too new or missing:\n  " + "\n  ".join(wrong))
    print("needs at most " + ", ".join(
        name + " " + ".".join(map(str, version)) for name, version in sorted(most.items())))


def packages_of(paths):
    """Path: the Debian package that this file of this machine comes from."""
    def names(path):  # dpkg knows a file by the path at which its package has it.
        real = os.path.realpath(path)
        return [path, real, path.removeprefix("/usr"), real.removeprefix("/usr")]

    found = subprocess.run(["dpkg-query", "-S", *{name for path in paths for name in names(path)}],
                           capture_output=True, text=True).stdout
    owners = {path: owner.split(":")[0]
              for owner, path in (line.rsplit(": ", 1) for line in found.splitlines())}
    packages = {}
    for path in paths:
        owner = next((owners[name] for name in names(path) if name in owners), None)
        packages[path] = owner or fail(
            f"{path} is in no Debian package, so its licence and version are unknown")
    return packages


def licences():
    table = {}
    with open(LICENCES, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                package, expression = line.rstrip("\n").split(" ", 1)
                table[package] = expression
    return table


def gpl_only(expression):
    choices = expression.split(" OR ")
    return all(choice.startswith("GPL-") and " WITH " not in choice for choice in choices)


def declared(package):
    """The licence of "Files: *" in a machine-readable copyright file, if SPDX knows it."""
    with open(f"/usr/share/doc/{package}/copyright", encoding="utf-8", errors="replace") as file:
        found = re.search(r"^Files: \*\n(?:.+\n)*?License: (\S+)$", file.read(), re.M)
    names = {"Apache-2.0": "Apache-2.0", "BSD-2-clause": "BSD-2-Clause", "Expat": "MIT",
             "BSD-3-clause": "BSD-3-Clause", "BSD-3-Clause": "BSD-3-Clause", "MIT": "MIT",
             "LGPL-2.1+": "LGPL-2.1-or-later", "PostgreSQL": "PostgreSQL", "Zlib": "Zlib"}
    return names.get(found.group(1), "NOASSERTION") if found else "NOASSERTION"


def versions_of(packages):
    """Name: (version, source package, its version)."""
    text = run("dpkg-query", "-W", "-f",
               "${Package} ${Version} ${source:Package} ${source:Version}\n", *packages)
    return {line.split()[0]: line.split()[1:] for line in text.splitlines()}


def toolkit_notice():
    """The licence of the CUDA runtime, which is linked into the runner."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc") or "/")))
    for folder, _, names in sorted(os.walk(os.path.join(root, "dist-info"))):
        if "nvidia_cuda_runtime" in folder:
            for name in names:
                if name.lower().startswith("license"):
                    return os.path.join(folder, name)
    for path in (root + "/EULA.txt", "/usr/share/doc/nvidia-cuda-toolkit/copyright"):
        if os.path.exists(path):
            return path
    fail(f"the CUDA toolkit in {root} has no licence file (EULA.txt) to ship with its runtime")


def write_notices(folder, packages, versions, table, cuda):
    notices = os.path.join(folder, "NOTICES")
    common = set()
    for package in packages:
        source = f"/usr/share/doc/{package}/copyright"
        os.makedirs(os.path.join(notices, package))
        shutil.copyfile(source, os.path.join(notices, package, "copyright"))
        with open(source, encoding="utf-8", errors="replace") as file:
            common |= set(re.findall(r"/usr/share/common-licenses/([\w.-]*[\w])", file.read()))
    if cuda:
        os.makedirs(os.path.join(notices, "cuda-runtime"))
        shutil.copyfile(toolkit_notice(), os.path.join(notices, "cuda-runtime", "License.txt"))
    os.makedirs(os.path.join(notices, "common-licenses"))
    for name in common:
        text = os.path.join("/usr/share/common-licenses", name)
        if os.path.isfile(text):
            shutil.copyfile(text, os.path.join(notices, "common-licenses", name))
    with open(os.path.join(notices, "README"), "w", encoding="utf-8") as file:
        file.write(
            "Assay is under the licence in ../LICENSE. The libraries and PostgreSQL come unchanged\n"
            "from the Debian packages below, apart from stripped symbols and the path (RUNPATH) by\n"
            "which they find each other; any of them may be replaced by another build. Each folder\n"
            "has its package's copyright file; licences that it names by their path in\n"
            "/usr/share/common-licenses are in common-licenses. The sources of each version are at\n"
            "https://snapshot.debian.org/package/SOURCE/VERSION/.\n\n"
            "package, version, source package, its version, licence of the files that are here:\n\n")
        for package in packages:
            version, source, source_version = versions[package]
            file.write(f"{package} {version} {source} {source_version} {table[package]}\n")


def digest(path, algorithm):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def spdx(folder, name, version, commit, seconds, packages, versions, table):
    def identifier(kind, text):
        return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", text.replace("+", "-plus"))

    own = {"name": name, "SPDXID": identifier("Package", name), "versionInfo": version,
           "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
           "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
           "copyrightText": "NOASSERTION", "comment": f"built from commit {commit}"}
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    described = [own]
    for package in packages:
        package_version, source, source_version = versions[package]
        described.append({
            "name": package, "SPDXID": identifier("Package", package),
            "versionInfo": package_version, "supplier": "Organization: Debian",
            "downloadLocation": f"https://snapshot.debian.org/package/{source}/{source_version}/",
            "filesAnalyzed": False, "licenseConcluded": table[package],
            "licenseDeclared": declared(package), "copyrightText": "NOASSERTION",
            "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{package}@{package_version}?arch=amd64"}]})
        relations.append((own["SPDXID"], "CONTAINS", described[-1]["SPDXID"]))
    contents = []
    for path in files_of(folder):
        full = os.path.join(folder, path)
        contents.append({
            "fileName": "./" + path, "SPDXID": identifier("File", path),
            "checksums": [{"algorithm": "SHA1", "checksumValue": digest(full, "sha1")},
                          {"algorithm": "SHA256", "checksumValue": digest(full, "sha256")}],
            "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"})
        relations.append((own["SPDXID"], "CONTAINS", contents[-1]["SPDXID"]))
    sums = sorted(file["checksums"][0]["checksumValue"] for file in contents)
    own["packageVerificationCode"] = {
        "packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest(),
        "packageVerificationCodeExcludedFiles": [f"./{name}.spdx.json", "./MANIFEST"]}
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{version}-{commit}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: assay-bundle"]},
        "hasExtractedLicensingInfos": [{
            "licenseId": "LicenseRef-public-domain",
            "extractedText": "The authors have put this file into the public domain."}],
        "packages": described, "files": contents,
        "relationships": [{"spdxElementId": one, "relationshipType": kind,
                           "relatedSpdxElement": other} for one, kind, other in relations]}


def write(folder, origins, name, version, commit, seconds, preset):
    table = licences()
    cuda = ".nv_fatbin" in run("readelf", "-SW", os.path.join(folder, "usr/bin/assay-runner"))
    with open(origins, encoding="utf-8") as file:
        sources = dict(line.rstrip("\n").split("\t") for line in file)
    used = collections.defaultdict(list)
    owners = packages_of(sources.values())
    for shipped, source in sources.items():
        used[owners[source]].append(shipped)
    packages = sorted([*used, *COMPILED_IN])
    for package in packages:
        if package not in table:
            fail(f"the licence of {package} ({used[package][0]}) is not in tools/bundle_licences.txt")
        if gpl_only(table[package]):
            fail(f"{package} ({used[package][0]}) is under the GPL, and must not be in an archive")
    versions = versions_of(packages)
    write_notices(folder, packages, versions, table, cuda)
    document = spdx(folder, name, version, commit, seconds, packages, versions, table)
    with open(os.path.join(folder, f"{name}.spdx.json"), "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    tools = {"gcc": run("gcc", "-dumpfullversion").strip()}
    if cuda:
        tools["cuda"] = re.search(r"release ([\d.]+)", run("nvcc", "--version")).group(1)
    lines = [f"# {name} {version}, commit {commit}, preset {preset}",
             "# built with " + ", ".join(f"{tool} {number}" for tool, number in tools.items()),
             "# verify: sha256sum -c MANIFEST"]
    lines += [f"{digest(os.path.join(folder, path), 'sha256')}  {path}" for path in files_of(folder)]
    with open(os.path.join(folder, "MANIFEST"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print(f"{len(packages)} Debian packages, none under the GPL alone")


def audit(documents):
    """Exit status 1: outdated packages. 2: Debian's archive could not be asked."""
    bundled = set()
    for document in documents:
        with open(document, encoding="utf-8") as file:
            for package in json.load(file)["packages"]:
                if package.get("supplier") == "Organization: Debian":
                    bundled.add((package["name"], package["versionInfo"]))
    update = subprocess.run(["apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "update"],
                            capture_output=True, text=True)
    policy = run("apt-cache", "policy", *sorted({name for name, _ in bundled}))
    if update.returncode != 0 or "-security/" not in policy + run("apt-cache", "policy"):
        why = update.stderr.strip().splitlines()[-1:] or ["apt has no security archive as a source"]
        print(f"bundle: cannot ask Debian's archive for newer packages: {why[0]}", file=sys.stderr)
        return 2
    candidates = dict(re.findall(r"^(\S+):\n  Installed: .*\n  Candidate: (\S+)", policy, re.M))
    outdated = []
    for name, version in sorted(bundled):
        candidate = candidates.get(name, "(none)")
        newer = candidate != "(none)" and subprocess.run(
            ["dpkg", "--compare-versions", candidate, "gt", version]).returncode == 0
        if newer:
            outdated.append(f"{name} {version}: Debian has {candidate}")
    for line in outdated:
        print(line)
    print(f"{len(bundled)} bundled packages, {len(outdated)} outdated"
          + (": run apt-get upgrade and ./dev bundle again" if outdated else ""))
    return 1 if outdated else 0


def main(arguments):
    command = arguments[0] if arguments else ""
    if command == "check" and len(arguments) == 2:
        check(arguments[1])
    elif command == "write" and len(arguments) == 8:
        folder, origins, name, version, commit, seconds, preset = arguments[1:]
        write(folder, origins, name, version, commit, int(seconds), preset)
    elif command == "audit" and len(arguments) > 1:
        return audit(arguments[1:])
    else:
        fail(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
