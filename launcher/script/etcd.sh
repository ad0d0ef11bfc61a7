# Finds etcd: in a named folder, in the cache, on the machine, or in Debian's packages, which it unpacks into the cache.
# shellcheck shell=bash

# Older releases can lose acknowledged writes, or changes that a watch must see: the node refuses them, and its EtcdDefect lists the defects.
ETCD_OLDEST=3.5.16
# The newest stable suite whose etcd is recent enough; bookworm has 3.4.
ETCD_SUITE=trixie
ETCD_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# etcd_version FOLDER: prints the version, or fails.
etcd_version() {
  local first
  # This reads all output and not the first line of a pipe: with pipefail, etcd would sometimes die of the closed pipe.
  first="$("$1/etcd" --version 2>/dev/null)" || return 1
  [[ "$first" =~ ^etcd\ Version:\ ([0-9]+\.[0-9]+\.[0-9]+) ]] || return 1
  printf '%s\n' "${BASH_REMATCH[1]}"
}

# etcd_words FOLDER: prints what the program prints instead of its version.
etcd_words() {
  local said code=0
  said="$("$1/etcd" --version 2>&1)" || code=$?
  # The shell's own words of a program that the kernel refuses begin with the script's name.
  said="${said##*$'\n'}"
  said="$(printf '%s' "${said##*"$1/etcd: "}" | tr -cd '[:print:]')"
  printf '%s\n' "${said:-nothing, and ended with $code}"
}

# etcd_usable FOLDER: succeeds if both programs exist and are recent enough. Prints nothing.
etcd_usable() {
  local version
  [[ -x "$1/etcd" && -x "$1/etcdctl" ]] || return 1
  version="$(etcd_version "$1")" || return 1
  version_at_least "$version" "$ETCD_OLDEST"
}

# etcd_check FOLDER: refuses an unusable folder that a person named, with the reason.
etcd_check() {
  local folder="$1" program version
  [[ -d "$folder" ]] || refuse "etcd: $folder is not a folder" "name the folder that holds etcd and etcdctl"
  for program in etcd etcdctl; do
    [[ -e "$folder/$program" ]] || refuse "etcd: $folder has no $program" "name the folder that holds etcd and etcdctl"
    [[ -x "$folder/$program" ]] || refuse "etcd: $folder/$program is not executable" "chmod +x $folder/$program"
  done
  version="$(etcd_version "$folder")" ||
    refuse "etcd: $folder/etcd does not report its version, but: $(etcd_words "$folder")" "install it again, since it is damaged or made for another machine, or leave the option out to use Debian's $ETCD_SUITE package"
  version_at_least "$version" "$ETCD_OLDEST" ||
    refuse "etcd: $folder/etcd is $version, older than $ETCD_OLDEST: it can lose acknowledged writes, or changes that a watch must see" "leave the option out to use Debian's $ETCD_SUITE package"
}

# etcd_fetch CACHE: unpacks Debian's packages to CACHE/etcd-VERSION. Needs no root: apt works in folders of its own.
etcd_fetch() {
  local cache="$1" mirror work folder version
  local -a APT
  local elsewhere="give a folder with etcd and etcdctl $ETCD_OLDEST or newer: --etcd FOLDER, or POLIS_ETCD=FOLDER"
  if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
    refuse "etcd: this machine has none, and without apt-get and dpkg ./polis cannot fetch it" "$elsewhere"
  fi
  mirror="$(debian_mirror)"
  [[ -n "$mirror" ]] || refuse "etcd: this machine has none, and apt's sources name no Debian mirror" "$elsewhere"
  [[ -r "$ETCD_KEYRING" ]] || refuse "etcd: $ETCD_KEYRING is missing, so apt cannot verify packages" "install debian-archive-keyring, or $elsewhere"

  say "fetching etcd of Debian $ETCD_SUITE from $mirror"
  # Only the holder of the lock fetches: older files come from a killed call.
  rm -rf "$cache"/fetch.*
  work="$(mktemp -d "$cache/fetch.XXXXXX")"
  private_apt "$work"
  touch "$work/status"
  printf 'deb [signed-by=%s] %s %s main\n' "$ETCD_KEYRING" "$mirror" "$ETCD_SUITE" >"$work/sources.list"
  # This is another release than the machine's, so apt must not use the machine's sources and installed packages.
  APT+=(-o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=$work/none" -o "Dir::Etc::preferencesparts=$work/none"
    -o "Dir::State::status=$work/status")
  if ! while_waiting "fetching etcd" "$work/log" etcd_download "$work/archives"; then
    cat "$work/log" >&2
    rm -rf "$work"
    refuse "etcd: ./polis could not fetch Debian's packages from $mirror" "$elsewhere"
  fi
  for folder in "$work"/archives/*.deb; do
    dpkg -x "$folder" "$work/root"
  done
  folder="$work/root/usr/bin"
  version="$(etcd_version "$folder")" || refuse "etcd: Debian's $ETCD_SUITE package does not run here" "$elsewhere"
  rm -rf "$cache/etcd-$version"
  mv "$folder" "$cache/etcd-$version"
  rm -rf "$work"
}

# etcd_download FOLDER: fetches only these packages, whose programs need no others.
etcd_download() {
  "${APT[@]}" update && (cd "$1" && "${APT[@]}" download etcd-server etcd-client)
}

# etcd_cached CACHE: prints the newest usable folder of the cache, or fails.
etcd_cached() {
  local folder
  while IFS= read -r folder; do
    if etcd_usable "$folder"; then
      printf '%s\n' "$folder"
      return 0
    fi
  done < <(find "$1" -maxdepth 1 -type d -name 'etcd-*' 2>/dev/null | sort -rV)
  return 1
}

# etcd_current CACHE: prints the folder of the current release, which it unpacks once from the archives beside the checkout; fails without them.
etcd_current() {
  local cache="$1" archives folder="$1/current-etcd" tools=node-tools-linux-amd64
  if ! etcd_usable "$folder"; then
    archives="$(kubernetes_archives)" || return 1
    [[ "$(sha256sum <"$archives/$tools.tar.xz" | cut -d ' ' -f 1)" == "${KUBERNETES_ARCHIVES[$tools.tar.xz]:-}" ]] || return 1
    rm -rf "$folder"
    mkdir -p "$folder"
    tar -xJf "$archives/$tools.tar.xz" -C "$folder" --strip-components=1 "$tools/etcd" "$tools/etcdctl" || return 1
  fi
  printf '%s\n' "$folder"
}

# etcd_folder CACHE [NAMED]: prints a folder that holds etcd and etcdctl. Several callers at once fetch only once.
etcd_folder() {
  local cache="$1" named="${2:-${POLIS_ETCD:-}}" installed
  if [[ -n "$named" ]]; then
    [[ ! -f "$named" ]] || named="$(dirname "$named")"
    etcd_check "$named"
    (cd "$named" && pwd)
    return 0
  fi
  mkdir -p "$cache"
  if etcd_cached "$cache"; then
    return 0
  fi
  if installed="$(command -v etcd)" && etcd_usable "$(dirname "$installed")"; then
    dirname "$installed"
    return 0
  fi
  {
    flock 9
    etcd_cached "$cache" || { etcd_fetch "$cache" && etcd_cached "$cache"; }
  } 9>"$cache/etcd.lock"
}
