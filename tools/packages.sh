# Which Debian packages each command of ./dev needs, and how they are installed.
# Sourced by ./dev. The names hold on Debian 12 and Ubuntu 24.04; where the two
# differ, "a|b" means the first that the distribution has.

packages_build=(
  build-essential cmake ninja-build ccache mold pkg-config
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev
  libpqxx-dev "prometheus-cpp-dev|libprometheus-cpp-dev" libmicrohttpd-dev
  libcli11-dev libyaml-cpp-dev nlohmann-json3-dev libspdlog-dev libfmt-dev
  libssl-dev zlib1g-dev libopenblas-dev libhwloc-dev libzstd-dev libcurl4-openssl-dev
)
# The web console needs node and npm. Those of the distribution do, if there are no others.
if ! command -v npm >/dev/null; then
  packages_build+=(nodejs npm)
fi
packages_run=(postgresql postgresql-client curl jq openssl python3)
packages_test=(
  libgtest-dev libgmock-dev libbenchmark-dev debootstrap prometheus prometheus-alertmanager iproute2 haproxy wget
  nftables faketime openssh-client openssh-server
  python3-grpcio python3-jsonschema python3-protobuf python3-yaml
)
# Ubuntu has Chromium only as a snap, which Selenium cannot drive: the console's test is skipped there.
if ! grep -qs '^ID=ubuntu' /etc/os-release; then
  packages_test+=(chromium chromium-driver python3-selenium)
fi
packages_bench=(iperf3 iproute2)
packages_lint=(clang-14 clang-tidy-14 clang-format-14 libclang-rt-14-dev shellcheck)
packages_bundle=(patchelf binutils xz-utils)

# Prints those of the given packages that are not installed.
missing_packages() {
  local spec name
  for spec in "$@"; do
    for name in ${spec//|/ }; do
      if [[ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null)" == ii* ]]; then
        continue 2
      fi
    done
    printf '%s\n' "$spec"
  done
}

# Of "a|b", the first that can be installed here.
installable_name() {
  local name
  for name in ${1//|/ }; do
    if apt-cache show "$name" >/dev/null 2>&1; then
      printf '%s\n' "$name"
      return
    fi
  done
  die "this distribution has none of the packages ${1//|/, }"
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "packages are missing, and there is neither root nor sudo to install them. As root, run:
    apt-get install ${missing[*]}"
  fi
}

# Installs those of the given packages that are missing; returns at once if none is.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian or Ubuntu system: expecting these to be installed: $*"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    return
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  local log spec names=()
  log="$(mktemp)"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update >"$log" 2>&1 ||
    { cat "$log" >&2; die "apt-get update failed"; }
  for spec in "${missing[@]}"; do
    names+=("$(installable_name "$spec")")
  done
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
    "${names[@]}" >"$log" 2>&1 </dev/null ||
    { tail -n 30 "$log" >&2; die "apt-get install failed (${names[*]})"; }
  rm -f "$log"
}
