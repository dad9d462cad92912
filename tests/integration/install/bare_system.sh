#!/usr/bin/env bash
# Makes a bare system and prints its folder: bare_system.sh SUITE ROOTS [PACKAGE]. A bare system is
# what debootstrap makes of Debian 12 (bookworm), Ubuntu 22.04 (jammy) or 24.04 (noble) without
# recommended packages; PACKAGE is added to it. What ROOTS already has is not made again. Exits
# with 77 if the suite's archive cannot be reached.
set -euo pipefail
suite="$1" roots="$2" package="${3:-}"

# Debian has no keyring of Ubuntu and no scripts of its newer suites. The systems only run our own
# programs, so Ubuntu's signatures are not checked.
options=(--variant=minbase --no-check-gpg)
mirror=http://archive.ubuntu.com/ubuntu script=jammy
if [[ "$suite" == bookworm ]]; then
  options=(--variant=minbase)
  mirror=http://deb.debian.org/debian script=bookworm
fi

complete() {
  [[ -e "$1/.complete" ]]
}

reach_archive() {
  curl -sfo /dev/null --max-time 20 "$mirror/dists/$suite/Release" || {
    echo "$mirror cannot be reached" >&2
    exit 77
  }
}

log="$(mktemp)"
trap 'rm -f "$log"' EXIT
mkdir -p "$roots"
system="$roots/$suite"
if ! complete "$system"; then
  reach_archive
  rm -rf "$system"
  debootstrap "${options[@]}" "$suite" "$system" "$mirror" \
    "/usr/share/debootstrap/scripts/$script" >"$log" 2>&1 || { tail "$log" >&2; exit 1; }
  touch "$system/.complete"
fi
if [[ -n "$package" ]]; then
  bare="$system" system="$roots/$suite-$package"
  if ! complete "$system"; then
    reach_archive
    rm -rf "$system"
    cp -a "$bare" "$system"
    rm "$system/.complete"
    cp /etc/resolv.conf /etc/hosts "$system/etc/"
    chroot "$system" sh -c "apt-get update && apt-get install -y --no-install-recommends $package" \
      >"$log" 2>&1 </dev/null || { tail "$log" >&2; exit 1; }
    touch "$system/.complete"
  fi
fi
echo "$system"
