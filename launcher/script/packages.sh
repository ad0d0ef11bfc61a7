# Provides the programs that a node and its tests run: those of the machine, packages that root installs, or Debian's packages, unpacked into the cache.
# shellcheck shell=bash

# Debian's package, or packages, of each program, without the programs of every base system.
declare -A PACKAGE_OF=(
  [chronyd]=chrony
  [cpio]=cpio
  [cryptsetup]=cryptsetup-bin
  [curl]=curl
  [depmod]=kmod
  [dnsmasq]=dnsmasq-base
  [faketime]=faketime
  [fusermount3]=fuse3
  [gocryptfs]=gocryptfs
  [initdb]=postgresql
  [ip]=iproute2
  [kill]=procps
  [losetup]=mount
  [mcopy]=mtools
  [mkfs.erofs]=erofs-utils
  [mkfs.vfat]=dosfstools
  [mkfs.xfs]=xfsprogs
  [mount]=mount
  [nft]=nftables
  [objcopy]=binutils
  [openssl]=openssl
  [postgres]=postgresql
  [prometheus-node-exporter]=prometheus-node-exporter
  [qemu-storage-daemon]=qemu-system-common
  [qemu-system-x86_64]="qemu-system-x86 ovmf"
  [sbsiglist]=sbsigntool
  [sbsign]=sbsigntool
  [sbvarsign]=sbsigntool
  [sgdisk]=gdisk
  [swtpm]=swtpm
  [tpm2_unseal]=tpm2-tools
  [umount]=mount
  [update-ca-certificates]=ca-certificates
  [veritysetup]=cryptsetup-bin
  [zstd]=zstd
)
# The programs that an ordinary user can use without an installation. The others need the rights of root, or a set-user-id bit, which only root can set.
UNPACKED_RUN=" chronyd cryptsetup curl faketime gocryptfs initdb ip kill mkfs.xfs postgres prometheus-node-exporter qemu-storage-daemon "
# The programs that even root only unpacks: their packages bring a service of the machine.
UNPACKED_ONLY=" chronyd initdb nft postgres prometheus-node-exporter "
# The place of PostgreSQL's programs on Debian: a folder for each major version, outside of every PATH.
POSTGRESQL_PLACES=usr/lib/postgresql

# debian_mirror: prints this machine's Debian mirror, from both notations of apt's sources.
debian_mirror() {
  # A machine has some of these files.
  { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } |
    awk '
      function offer(uri) { path = uri; sub(/\/+$/, "", path); if (path ~ /\/debian(\.list)?$/) { print uri; exit } }
      /^[[:space:]]*URIs:/ { for (i = 2; i <= NF; i++) offer($i) }
      /^[[:space:]]*deb[[:space:]]/ { for (i = 2; i <= NF; i++) if ($i ~ /:\//) { offer($i); break } }'
}

# private_apt WORK: fills APT with an apt-get that uses its own folders and therefore needs no root. It uses the machine's sources, keys, proxies and list of
# installed packages.
private_apt() {
  mkdir -p "$1"/{lists/partial,archives/partial,root}
  APT=(apt-get -q
    -o "Dir::State=$1" -o "Dir::State::lists=$1/lists" -o "Dir::State::status=/var/lib/dpkg/status"
    -o "Dir::Cache=$1" -o "Dir::Cache::archives=$1/archives" -o "Dir::Log=$1"
    -o "APT::Sandbox::User=$(id -un)" -o "Acquire::Languages=none" -o "Debug::NoLocking=true")
}

# has_program PROGRAM: succeeds if the PATH has such an executable file. A builtin of the same name, such as kill, does not count; and without an executable
# file, type prints one that is not executable.
has_program() {
  local file
  file="$(type -P "$1")" && [[ -x "$file" ]]
}

# missing_programs PROGRAM...: prints the programs that are not on the PATH.
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
    tr ' ' '\n' <<<"${PACKAGE_OF[$program]}"
  done | sort -u
}

# use_programs CACHE: adds the unpacked programs, and the folders of system programs that a user's PATH may lack, to the end of the PATH.
use_programs() {
  local place
  PATH="$PATH:/usr/sbin:/sbin:$1/programs/bin"
  for place in "/$POSTGRESQL_PLACES"/*/bin; do
    [[ ! -d "$place" ]] || PATH="$PATH:$place"
  done
  export PATH
}

# provide_programs CACHE PROGRAM...: installs missing programs as root, and unpacks them as another user. It names unavailable programs in one line and
# succeeds: a node works without them, and their tests are skipped. It changes the PATH, so it is useless in a subshell.
provide_programs() {
  local cache="$1" why=""
  shift
  local -a missing wanted=() installed=()
  use_programs "$cache"
  mapfile -t missing < <(missing_programs "$@")
  [[ ${#missing[@]} -gt 0 ]] || return 0
  mkdir -p "$cache"
  if ! has_program apt-get || ! has_program dpkg; then
    why="the machine has no apt-get and dpkg to fetch them"
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
    why="./polis could not fetch Debian's packages, see $cache/packages.log"
  fi
  hash -r
  mapfile -t missing < <(missing_programs "$@")
  [[ ${#missing[@]} -eq 0 ]] ||
    say "continuing without ${missing[*]} (packages $(packages_of "${missing[@]}" | paste -sd ' ')): ${why:-the packages do not contain them}"
}

# unpackable PROGRAM...: prints the programs that an ordinary user can use after unpacking.
unpackable() {
  local program
  for program in "$@"; do
    case "$program" in
      gocryptfs | qemu-storage-daemon) mounts_by_fuse || continue ;;
    esac
    [[ "$UNPACKED_RUN" != *" $program "* ]] || printf '%s\n' "$program"
  done
}

# mounts_by_fuse: succeeds if an ordinary user may mount here.
mounts_by_fuse() {
  [[ -w /dev/fuse ]] && has_program fusermount3
}

# install_packages CACHE PROGRAM...: installs the packages of programs, as root.
install_packages() {
  local cache="$1"
  shift
  local -a packages
  mapfile -t packages < <(packages_of "$@")
  say "installing the packages ${packages[*]} for $*"
  while_waiting "installing ${packages[*]}" "$cache/packages.log" apt_install "${packages[@]}"
}

apt_install() {
  # Another apt may run; a small installation takes a minute.
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
      say "fetching the packages ${packages[*]} for ${missing[*]}"
      while_waiting "fetching ${packages[*]}" "$cache/packages.log" unpack_packages "$cache" "${packages[@]}" &&
        wrap_programs "$cache/programs" "${missing[@]}" || code=1
    fi
  } 9>"$cache/programs.lock"
  return "$code"
}

# unpack_packages CACHE PACKAGE...: unpacks packages, which apt verifies with the machine's keys.
unpack_packages() {
  local cache="$1" work package
  local -a APT packages
  shift
  # Only the holder of the lock fetches: older files come from a killed call.
  rm -rf "$cache"/programs.*.new
  work="$(mktemp -d "$cache/programs.XXXXXX.new")"
  private_apt "$work"
  "${APT[@]}" update || return 1
  # The packages that apt would install, except the C library: it would not fit the machine's loader.
  mapfile -t packages < <("${APT[@]}" install --simulate --no-install-recommends "$@" | awk '$1 == "Inst" && $2 != "libc6" { print $2 }')
  [[ ${#packages[@]} -gt 0 ]] || return 1
  (cd "$work/archives" && "${APT[@]}" download "${packages[@]}") || return 1
  mkdir -p "$cache/programs/root"
  for package in "$work"/archives/*.deb; do
    dpkg -x "$package" "$cache/programs/root" || return 1
  done
  rm -rf "$work"
}

# wrap_programs FOLDER PROGRAM...: makes commands in FOLDER/bin that run the programs in FOLDER/root with their libraries.
wrap_programs() {
  local folder="$1" program place
  local -a places
  shift
  mkdir -p "$folder/bin"
  # The shell keeps a pattern without a match, and no program has such a path.
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

# storage_programs STATE [SECURITY]: prints the programs for the data volume of a node: for the existing volume, the requested security, or the strongest one
# that this machine can give.
storage_programs() {
  local state="$1" security="${2:-}"
  local -a authenticated=(gocryptfs fusermount3)
  local -a encrypted=(cryptsetup qemu-storage-daemon fusermount3 mkfs.xfs losetup mount umount)
  # The device may exist on a kernel without device-mapper; opening it shows that.
  if { : </dev/mapper/control; } 2>/dev/null; then
    authenticated=(cryptsetup mkfs.xfs mount umount)
    encrypted=("${authenticated[@]}")
  fi
  if [[ -e "$state/volume.gocryptfs" ]]; then
    printf '%s\n' "${authenticated[@]}"
  elif [[ -e "$state/volume.luks" ]]; then
    printf '%s\n' "${encrypted[@]}"
  elif [[ -e "$state/data" ]]; then
    : # It is a plain directory.
  else
    case "${security,,}" in
      insecure) ;;
      encrypted) printf '%s\n' "${encrypted[@]}" ;;
      "") [[ "$(id -u)" != 0 || ! -e /dev/fuse ]] || printf '%s\n' "${authenticated[@]}" ;;
      *) printf '%s\n' "${authenticated[@]}" ;;
    esac
  fi
}
