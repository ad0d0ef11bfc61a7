# Where the programs come from that a node and its tests run: the machine's own, those root installs, or Debian's packages unpacked into the cache.
# shellcheck shell=bash

# Debian's package of each program. Those that its base system always has are left out.
declare -A PACKAGE_OF=(
  [cryptsetup]=cryptsetup-bin
  [curl]=curl
  [fusermount3]=fuse3
  [gocryptfs]=gocryptfs
  [initdb]=postgresql
  [ip]=iproute2
  [kill]=procps
  [losetup]=mount
  [mkfs.xfs]=xfsprogs
  [mount]=mount
  [postgres]=postgresql
  [prometheus-node-exporter]=prometheus-node-exporter
  [qemu-storage-daemon]=qemu-system-common
  [umount]=mount
  [update-ca-certificates]=ca-certificates
)
# What an ordinary user can use although nobody installed it. The rest needs the rights of root, or a set-user-id bit, which only root can give.
UNPACKED_RUN=" cryptsetup curl gocryptfs initdb ip kill mkfs.xfs postgres prometheus-node-exporter qemu-storage-daemon "
# What is unpacked for root too: its package would start a service of the machine.
UNPACKED_ONLY=" initdb postgres prometheus-node-exporter "
# Where Debian puts PostgreSQL's programs, in a folder for each major version that is on nobody's PATH.
POSTGRESQL_PLACES=usr/lib/postgresql

# debian_mirror: prints where this machine takes Debian from, in both notations of apt's sources.
debian_mirror() {
  # A machine has some of these files.
  { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } |
    awk '
      function offer(uri) { path = uri; sub(/\/+$/, "", path); if (path ~ /\/debian(\.list)?$/) { print uri; exit } }
      /^[[:space:]]*URIs:/ { for (i = 2; i <= NF; i++) offer($i) }
      /^[[:space:]]*deb[[:space:]]/ { for (i = 2; i <= NF; i++) if ($i ~ /:\//) { offer($i); break } }'
}

# private_apt WORK: fills APT with an apt-get that works in folders of its own and therefore needs no root. The machine's sources, keys, proxies and list of
# installed packages stay in force.
private_apt() {
  mkdir -p "$1"/{lists/partial,archives/partial,root}
  APT=(apt-get -q
    -o "Dir::State=$1" -o "Dir::State::lists=$1/lists" -o "Dir::State::status=/var/lib/dpkg/status"
    -o "Dir::Cache=$1" -o "Dir::Cache::archives=$1/archives" -o "Dir::Log=$1"
    -o "APT::Sandbox::User=$(id -un)" -o "Acquire::Languages=none" -o "Debug::NoLocking=true")
}

# has_program PROGRAM: whether there is such a file on the PATH that can be executed. Of a shell word of the same name, such as kill, nothing is gained; and
# without an executable file, type names one that is not.
has_program() {
  local file
  file="$(type -P "$1")" && [[ -x "$file" ]]
}

# missing_programs PROGRAM...: prints those that are not on the PATH.
missing_programs() {
  local program
  for program in "$@"; do
    has_program "$program" || printf '%s\n' "$program"
  done
}

# packages_of PROGRAM...: prints their packages, each once.
packages_of() {
  local program
  for program in "$@"; do
    printf '%s\n' "${PACKAGE_OF[$program]}"
  done | sort -u
}

# use_programs CACHE: puts what was unpacked, and the folders of system programs that a user's PATH may lack, behind the PATH.
use_programs() {
  local place
  PATH="$PATH:/usr/sbin:/sbin:$1/programs/bin"
  for place in "/$POSTGRESQL_PLACES"/*/bin; do
    [[ ! -d "$place" ]] || PATH="$PATH:$place"
  done
  export PATH
}

# provide_programs CACHE PROGRAM...: whatever is missing is installed by root and unpacked by others. What cannot be had is said, in one line, and is no
# failure: a node does without, and tests are skipped. Changes the PATH, so it is of no use in a subshell.
provide_programs() {
  local cache="$1" why=""
  shift
  local -a missing wanted=() installed=()
  use_programs "$cache"
  mapfile -t missing < <(missing_programs "$@")
  [[ ${#missing[@]} -gt 0 ]] || return 0
  mkdir -p "$cache"
  if ! has_program apt-get || ! has_program dpkg; then
    why="there is no apt-get and dpkg to fetch them with"
  elif [[ "$(id -u)" == 0 ]]; then
    local program
    for program in "${missing[@]}"; do
      if [[ "$UNPACKED_ONLY" == *" $program "* ]]; then wanted+=("$program"); else installed+=("$program"); fi
    done
  else
    why="only root can install them"
    mapfile -t wanted < <(unpackable "${missing[@]}")
  fi
  if [[ ${#installed[@]} -gt 0 ]] && ! install_packages "$cache" "${installed[@]}"; then
    why="apt-get could not install them, see $cache/packages.log"
  fi
  if [[ ${#wanted[@]} -gt 0 ]] && ! unpack_programs "$cache" "${wanted[@]}"; then
    why="Debian's packages could not be fetched, see $cache/packages.log"
  fi
  hash -r
  mapfile -t missing < <(missing_programs "$@")
  [[ ${#missing[@]} -eq 0 ]] ||
    say "going on without ${missing[*]} (packages $(packages_of "${missing[@]}" | paste -sd ' ')): ${why:-the packages do not hold them}"
}

# unpackable PROGRAM...: prints those that are of use when an ordinary user unpacks them.
unpackable() {
  local program
  for program in "$@"; do
    case "$program" in
      gocryptfs | qemu-storage-daemon) mounts_by_fuse || continue ;;
    esac
    [[ "$UNPACKED_RUN" != *" $program "* ]] || printf '%s\n' "$program"
  done
}

# mounts_by_fuse: whether an ordinary user may mount here.
mounts_by_fuse() {
  [[ -w /dev/fuse ]] && has_program fusermount3
}

# install_packages CACHE PROGRAM...: installs the packages of programs, as root.
install_packages() {
  local cache="$1"
  shift
  local -a packages
  mapfile -t packages < <(packages_of "$@")
  say "installing the packages ${packages[*]}, which have $*"
  while_waiting "installing ${packages[*]}" "$cache/packages.log" apt_install "${packages[@]}"
}

apt_install() {
  # Another apt may be at work; a minute is what a small installation takes.
  DEBIAN_FRONTEND=noninteractive apt-get -q update &&
    DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=60 install -y --no-install-recommends "$@"
}

# unpack_programs CACHE PROGRAM...: unpacks their packages, with the libraries that the machine lacks, to CACHE/programs. Several callers at once fetch only
# once.
unpack_programs() {
  local cache="$1" code=0
  shift
  {
    flock 9
    local -a missing packages
    mapfile -t missing < <(missing_programs "$@")
    if [[ ${#missing[@]} -gt 0 ]]; then
      mapfile -t packages < <(packages_of "${missing[@]}")
      say "fetching the packages ${packages[*]}, which have ${missing[*]}"
      while_waiting "fetching ${packages[*]}" "$cache/packages.log" unpack_packages "$cache" "${packages[@]}" &&
        wrap_programs "$cache/programs" "${missing[@]}" || code=1
    fi
  } 9>"$cache/programs.lock"
  return "$code"
}

# unpack_packages CACHE PACKAGE...: apt verifies what it fetches by the machine's keys.
unpack_packages() {
  local cache="$1" work package
  local -a APT packages
  shift
  # Whoever holds the lock is the only one who fetches: what is there was left by one that was killed.
  rm -rf "$cache"/programs.*.new
  work="$(mktemp -d "$cache/programs.XXXXXX.new")"
  private_apt "$work"
  "${APT[@]}" update || return 1
  # What would be installed, of which a C library is left out: beside the machine's own it would not fit its loader.
  mapfile -t packages < <("${APT[@]}" install --simulate --no-install-recommends "$@" | awk '$1 == "Inst" && $2 != "libc6" { print $2 }')
  [[ ${#packages[@]} -gt 0 ]] || return 1
  (cd "$work/archives" && "${APT[@]}" download "${packages[@]}") || return 1
  mkdir -p "$cache/programs/root"
  for package in "$work"/archives/*.deb; do
    dpkg -x "$package" "$cache/programs/root" || return 1
  done
  rm -rf "$work"
}

# wrap_programs FOLDER PROGRAM...: makes commands in FOLDER/bin that run what lies in FOLDER/root with the libraries that came along.
wrap_programs() {
  local folder="$1" program place
  local -a places
  shift
  mkdir -p "$folder/bin"
  # The shell leaves a pattern that matches nothing as it is, which then holds no program.
  mapfile -t places < <(cd "$folder/root" && printf '%s\n' usr/sbin usr/bin sbin bin "$POSTGRESQL_PLACES"/*/bin)
  for program in "$@"; do
    for place in "${places[@]}"; do
      [[ -x "$folder/root/$place/$program" ]] || continue
      cat >"$folder/bin/$program" <<END
#!/bin/sh
root="\${0%/*}/../root"
export LD_LIBRARY_PATH="\$root/usr/lib/x86_64-linux-gnu:\$root/lib/x86_64-linux-gnu:\$root/usr/lib"
exec "\$root/$place/$program" "\$@"
END
      chmod +x "$folder/bin/$program"
      break
    done
  done
}

# storage_programs STATE [SECURITY]: prints what the data volume of a node needs: the one that is there, or the one that is asked for, or the strongest that
# this machine can give.
storage_programs() {
  local state="$1" security="${2:-}"
  local -a authenticated=(gocryptfs fusermount3)
  local -a encrypted=(cryptsetup qemu-storage-daemon fusermount3 mkfs.xfs losetup mount umount)
  # It may be there on a kernel that has nothing behind it, which shows when it is opened.
  if { : </dev/mapper/control; } 2>/dev/null; then
    authenticated=(cryptsetup mkfs.xfs mount umount)
    encrypted=("${authenticated[@]}")
  fi
  if [[ -e "$state/volume.gocryptfs" ]]; then
    printf '%s\n' "${authenticated[@]}"
  elif [[ -e "$state/volume.luks" ]]; then
    printf '%s\n' "${encrypted[@]}"
  elif [[ -e "$state/data" ]]; then
    : # It lies there in the clear.
  else
    case "${security,,}" in
      insecure) ;;
      encrypted) printf '%s\n' "${encrypted[@]}" ;;
      "") [[ "$(id -u)" != 0 || ! -e /dev/fuse ]] || printf '%s\n' "${authenticated[@]}" ;;
      *) printf '%s\n' "${authenticated[@]}" ;;
    esac
  fi
}
