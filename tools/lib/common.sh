# What tools/quickstart, tools/test and .ci/run share: messages, packages, the build, the model parts. Sourced, never run.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
cd "$root" || exit 1

say() { printf '\n== %s\n' "$*"; }
note() { printf '   %s\n' "$*"; }
fail() {
  printf '\nerror: %s\n' "$*" >&2
  exit 1
}

# A field of /etc/os-release, or nothing.
os_release() { (. /etc/os-release && printf '%s' "${!1:-}") 2>/dev/null || true; }

# Which system this is, as debian-12.
system_id() { printf '%s-%s' "$(os_release ID)" "$(os_release VERSION_ID)"; }

# Prints the package list of this system, or says why there is none. Debian 12 is tried, Ubuntu 24.04 is written for.
package_list() {
  local name
  name=$(os_release PRETTY_NAME)
  case "$(system_id)" in
    debian-12) ;;
    ubuntu-24.04) printf '   %s: written for, but untried\n' "$name" >&2 ;;
    *) fail "this system is ${name:-unknown}; packages can be installed by this script on Debian 12 (tried) and Ubuntu 24.04 (untried)
  only. Install the equivalents of tools/deps/debian-12.txt yourself and run this again with --no-install." ;;
  esac
  printf '%s/tools/deps/%s.txt' "$root" "$(system_id)"
}

# Runs a command as root: directly, or through sudo. apt's proxy variables go along, which sudo alone would drop.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
    return
  fi
  local sudo=(sudo) carried=(DEBIAN_FRONTEND=noninteractive) name
  [ -t 0 ] || sudo+=(-n)
  for name in http_proxy https_proxy ftp_proxy no_proxy; do
    [ -z "${!name:-}" ] || carried+=("$name=${!name}")
  done
  "${sudo[@]}" env "${carried[@]}" "$@"
}

# install_packages GROUP...: installs what is missing of these groups. Asks for no right and no network if nothing is.
install_packages() {
  local list wanted=() missing=() unknown=() package log update_failed=""
  list=$(package_list) || exit 1
  mapfile -t wanted < <(awk -v groups=" $* " '!/^#/ && index(groups, " " $1 " ") {print $2}' "$list")
  for package in "${wanted[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  if [ ${#missing[@]} = 0 ]; then
    note "all ${#wanted[@]} packages are installed (${list#"$root"/})"
    return
  fi
  note "missing of ${list#"$root"/}: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "installing packages needs root, and there is no sudo: run this as root, or have these installed
  and use --no-install: ${missing[*]}"
    as_root true || fail "sudo was refused: run this as root, or have these installed and use --no-install: ${missing[*]}"
  fi
  log=$(mktemp)
  note "apt-get update"
  as_root apt-get -o DPkg::Lock::Timeout=300 update --error-on=any >"$log" 2>&1 || update_failed=yes
  for package in "${missing[@]}"; do
    [[ $(apt-cache policy "$package" 2>/dev/null) == *"Candidate: "[!\(]* ]] || unknown+=("$package")
  done
  if [ ${#unknown[@]} != 0 ]; then
    grep -E '^(E|W|Err)' "$log" | head -n 5 >&2 || true
    rm -f "$log"
    [ -z "$update_failed" ] || fail "apt-get update failed (above) and apt does not know: ${unknown[*]}
  Is there a network, and can apt reach its sources from here?"
    fail "apt does not know: ${unknown[*]}
  Does /etc/apt list the component main (Ubuntu: and universe) of this release?"
  fi
  [ -z "$update_failed" ] || note "apt-get update failed for a source; going on with the package lists that are there"
  note "apt-get install, without recommended packages (the first time: about 370 MB to download)"
  if ! as_root apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -q -y --no-install-recommends install "${missing[@]}" \
    </dev/null 2>&1 | tee "$log" | awk '/newly installed|^Need to get|^Fetched/ {print "   " $0}
      /^Setting up / {if (++n % 50 == 0) print "   " n " packages set up"} {fflush()}'; then
    grep -E '^(E|dpkg): ' "$log" | tail -n 5 >&2 || tail -n 20 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install (its reason is above): ${missing[*]}${update_failed:+
  apt-get update had failed before. Is there a network, and can apt reach its sources from here?}"
  fi
  rm -f "$log"
  note "${#missing[@]} packages and what they need are installed"
}

# Jobs to compile with: every core, but no more than memory allows (a translation unit here takes up to about 1 GB).
build_jobs() {
  local cores memory_kib
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null || true)
  if [ -n "$memory_kib" ] && [ $((memory_kib / 1048576)) -lt "$cores" ]; then
    cores=$((memory_kib / 1048576))
  fi
  [ "$cores" -ge 1 ] || cores=1
  printf '%s' "$cores"
}

# build_preset PRESET [TARGET...]: configures build/PRESET and builds the targets (all if none are named). Variables for
# CMake go into the array cmake_variables. Uses ccache where it is installed. Warnings are errors only with the compiler that
# the project is written with: another one may have new ones, and people who only want to run this can do nothing about them.
cmake_variables=()
build_preset() {
  local preset=$1 tool targets=()
  shift
  for tool in cmake ninja c++ pkg-config; do
    command -v "$tool" >/dev/null || fail "$tool is not installed: run this without --no-install, or see tools/deps/debian-12.txt"
  done
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}
    export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
  fi
  [ $# = 0 ] || targets=(--target "$@")
  [ "$(system_id)" = debian-12 ] || cmake_variables+=(-DLONGVIEW_WERROR=OFF)
  cmake --preset "$preset" "${cmake_variables[@]}" || fail "configuring failed: the library or tool that CMake names above is missing or too old"
  cmake --build "build/$preset" --parallel "$(build_jobs)" "${targets[@]}" || fail "the build of preset $preset failed (above)"
}

bring_parts() {
  command -v python3 >/dev/null || fail "python3 is not installed: run this without --no-install, or see tools/deps/debian-12.txt"
  python3 tools/fetch_parts.py || fail "not every model part could be brought (above)"
}

# The model folder, as the program itself finds it.
models_folder() {
  local base=${XDG_DATA_HOME:-}
  [ "${base#/}" != "$base" ] || base=${HOME:?HOME is not set}/.local/share
  printf '%s' "${LONGVIEW_MODELS:-$base/longview/models}"
}
