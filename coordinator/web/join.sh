#!/bin/sh
# Joins this machine to a fleet of Assay:
#
#   curl -fsSk --pinnedpubkey sha256//PIN URL/join | sh -s -- TOKEN [OPTIONS OF assay-agent join]
#
# Downloads the node's programs from the coordinator, checks and unpacks them into
# ${ASSAY_HOME:-$HOME/.local/share/assay-node}/VERSION, and runs `assay-agent join`. The coordinator
# fills in what is between @ signs. All commands are in functions, so that a script that was cut off
# on its way does nothing.
set -eu

url='@URL@'
pin='@PIN@'
version='@VERSION@'
sum='@SHA256@' # SHA-256 of the archive; empty if the coordinator has no archive.
authority='@AUTHORITY@'

fail() {
  printf 'assay: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
  exit 2
}

have() {
  command -v "$1" >/dev/null 2>&1
}

check_machine() {
  case "${1:-}" in
  assay1.*) ;;
  '') fail 'the line has no token' 'paste the whole line that assay node invite printed' ;;
  *) fail 'the token is not of the form assay1.ID.SECRET' \
    'paste the whole line that assay node invite printed' ;;
  esac
  [ "$(uname -s) $(uname -m)" = 'Linux x86_64' ] ||
    fail "this machine is $(uname -s) $(uname -m); nodes must be Linux x86_64"
  [ -n "$sum" ] || fail "the coordinator at $url has no archive of the node's programs" \
    'start it with --node-archive FILE, the archive that ./dev bundle makes'
}

choose_folder() {
  if [ -n "${ASSAY_HOME:-}" ]; then
    base=$ASSAY_HOME
  elif [ -n "${HOME:-}" ]; then
    base=$HOME/.local/share/assay-node
  elif [ "$(id -u)" = 0 ]; then
    base=/opt/assay-node
  else
    fail 'HOME is not set' "set ASSAY_HOME to the folder for Assay's programs"
  fi
  target=$base/$version
  mkdir -p "$base" || fail "cannot make the folder $base" \
    "set ASSAY_HOME to the folder for Assay's programs"
}

installed() {
  [ "$(cat "$target/archive.sha256" 2>/dev/null)" = "$sum" ]
}

download() {
  if have curl; then
    curl -fsSk --pinnedpubkey "sha256//$pin" --connect-timeout 20 --retry 3 -o "$1" \
      "$url/assay-node.deb"
  elif have wget; then
    printf '%s\n' "$authority" >"$work/authority.pem"
    wget -nv --ca-certificate="$work/authority.pem" -O "$1" "$url/assay-node.deb"
  else
    fail 'neither curl nor wget is installed' 'install one of them'
  fi
}

unpack() {
  if have dpkg-deb; then
    dpkg-deb -x "$1" "$2"
  elif have ar && have xz; then
    ar p "$1" data.tar.xz | xz -dc | tar -xf - -C "$2"
  else
    fail "dpkg-deb is not installed, nor are ar and xz" 'install one of them'
  fi
}

install_programs() {
  work=$(mktemp -d "$base/new.XXXXXX") || fail "cannot write to $base" \
    "set ASSAY_HOME to the folder for Assay's programs"
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' HUP INT TERM
  if ! download "$work/node.deb"; then
    printf 'assay: cannot download %s\n' "$url/assay-node.deb" >&2
    exit 1
  fi
  [ "$(sha256sum <"$work/node.deb")" = "$sum  -" ] ||
    fail "$url/assay-node.deb is not the archive that this script was made for" \
      'paste the line again; if that does not help, was the file replaced on the coordinator?'
  mkdir "$work/unpacked"
  unpack "$work/node.deb" "$work/unpacked" || fail "cannot unpack the archive into $base"
  new=$work/unpacked/opt/assay
  printf '%s\n' "$sum" >"$new/archive.sha256"
  "$new/bin/assay-agent" --version >/dev/null ||
    fail "the programs in $base do not run on this machine" \
      'they need Debian 12, Ubuntu 22.04 or newer, and a folder that is not mounted with noexec'
  if [ -e "$target" ] && ! installed; then
    mv -T "$target" "$work/old"
  fi
  # Another run of this script may have been faster.
  mv -T "$new" "$target" 2>/dev/null || installed || fail "cannot make the folder $target"
  rm -rf "$work"
  trap - EXIT HUP INT TERM
}

main() {
  check_machine "$@"
  choose_folder
  installed || install_programs
  ASSAY_INVITE=$1
  export ASSAY_INVITE
  shift
  exec "$target/bin/assay-agent" join --url "$url" --pin "$pin" "$@" </dev/null
}

main "$@"
