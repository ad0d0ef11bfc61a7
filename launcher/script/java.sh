# Finds a JDK 25 anywhere on the machine; otherwise unpacks Debian's packages or the official Temurin archive into the cache.
# shellcheck shell=bash

JAVA_WANTED=25
# Debian's packages of it. Each Debian has the other packages that they need, or only programs with windows and sound use them. They are made for this
# C library, Debian 13's, and do not start on an older one.
JAVA_PACKAGES=("openjdk-$JAVA_WANTED-jdk-headless" "openjdk-$JAVA_WANTED-jre-headless")
JAVA_PACKAGES_LIBC=2.38
# The official archive; POLIS_JDK_URL names a mirror of it, and POLIS_JDK_SHA256 the digest if the mirror has another archive. It is made for this
# C library.
TEMURIN_VERSION=25.0.4.1+1
TEMURIN_SHA256=dbb698396d478e7fa2b1e50f4103324b2a99b90569ee27c33f2261f9215cf41e
TEMURIN_LIBC=2.17
# MiB on the disk: the packages are 400 and the archive 135, and unpacked they take 600 and 360.
JAVA_ROOM_PACKAGES=1100
JAVA_ROOM_ARCHIVE=600

JAVA_ELSEWHERE="install a JDK $JAVA_WANTED (package openjdk-$JAVA_WANTED-jdk-headless or temurin-$JAVA_WANTED-jdk), or set JAVA_HOME to one"

# java_feature HOME: prints the feature release of the JDK there, or fails.
java_feature() {
  [[ -x "$1/bin/java" && -x "$1/bin/javac" && -r "$1/release" ]] || return 1
  [[ "$(<"$1/release")" =~ (^|$'\n')JAVA_VERSION=\"([0-9]+) ]] && printf '%s\n' "${BASH_REMATCH[2]}"
}

# java_home: prints the home of a JDK 25: JAVA_HOME, then PATH, then the usual folders, then the cache; provides one if there is none. Several callers at once
# fetch only once.
java_home() {
  local candidate
  local -a candidates=("${JAVA_HOME:-}")
  if candidate="$(command -v javac)"; then
    candidates+=("$(dirname "$(dirname "$(readlink -f "$candidate")")")")
  fi
  candidates+=(/usr/lib/jvm/* /opt/*)
  # A unit or a cron job may have no home.
  [[ -z "${HOME:-}" ]] || candidates+=("$HOME"/.sdkman/candidates/java/*)
  java_among "${candidates[@]}" || java_cached || {
    mkdir -p "$POLIS_CACHE"
    { flock 9 && java_provide; } 9>"$POLIS_CACHE/jdk.lock"
  }
}

# java_among HOME...: prints the first JDK 25 of these, or fails.
java_among() {
  local candidate
  for candidate in "$@"; do
    if [[ -n "$candidate" && "$(java_feature "$candidate" || true)" == "$JAVA_WANTED" ]]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# java_cached: prints the JDK in the cache, or fails.
java_cached() {
  java_among "$POLIS_CACHE"/jdk-"$JAVA_WANTED"*
}

# java_provide: unpacks a JDK to the cache and prints its home, which appears under its name when it is complete and has started.
java_provide() {
  local stage libc made FETCH_FOR=java FETCH_ELSEWHERE="$JAVA_ELSEWHERE" FETCH_PROTOCOLS==https,http
  java_cached && return # Another call has provided it meanwhile.
  # This check comes first: half a gigabyte is too much for a JDK that does not start.
  libc="$(libc_version)"
  if [[ "$(uname -m)" != x86_64 ]] || ! version_at_least "$libc" "$TEMURIN_LIBC"; then
    refuse "there is no JDK $JAVA_WANTED, and none exists for this machine ($(uname -m), GNU C library $libc): it needs x86_64 and $TEMURIN_LIBC" "$JAVA_ELSEWHERE"
  fi
  # Older files come from a killed call.
  rm -rf "$POLIS_CACHE"/jdk.*.new
  stage="$(mktemp -d "$POLIS_CACHE/jdk.XXXXXX.new")" || refuse "java: cannot write $POLIS_CACHE" "make it writable, with room for a JDK"
  # Only its maker may read a folder of mktemp, but every user that may start a node needs the programs.
  chmod 755 "$stage"
  # A refusal ends this shell and must leave nothing unfinished. The subshell has its own trap.
  (
    trap 'rm -rf "$stage"' EXIT
    java_from_packages "$stage" "$libc" || java_from_archive "$stage"
    java_trust "$stage/jdk"
    made="$POLIS_CACHE/jdk-$(sed -n 's/^JAVA_VERSION="\(.*\)"/\1/p' "$stage/jdk/release")"
    rm -rf "$made" && mv "$stage/jdk" "$made" || exit
    printf '%s\n' "$made"
  )
}

# libc_version: prints the version of the GNU C library, or 0 if the machine has another C library.
libc_version() {
  local name version=0
  read -r name version < <(getconf GNU_LIBC_VERSION 2>/dev/null) || true
  printf '%s\n' "${version:-0}"
}

# java_starts HOME: succeeds if it is a JDK 25 that runs here.
java_starts() {
  java_among "$1" >/dev/null && "$1/bin/java" -version >>"$POLIS_CACHE/java.log" 2>&1
}

# java_from_packages STAGE LIBC: makes STAGE/jdk of the packages of the machine's own sources. Fails if they do not have them.
java_from_packages() {
  local stage="$1" log="$POLIS_CACHE/java.log"
  if ! has_program apt-get || ! has_program dpkg-deb || ! version_at_least "$2" "$JAVA_PACKAGES_LIBC"; then
    return 1
  fi
  need_room "$POLIS_CACHE" "$JAVA_ROOM_PACKAGES"
  say "fetching JDK $JAVA_WANTED, the packages ${JAVA_PACKAGES[*]}"
  while_waiting "fetching ${JAVA_PACKAGES[0]}" "$log" java_unpack_packages "$stage" && java_starts "$stage/jdk" && return
  refuse_full "$stage"
  say "./polis could not fetch the packages, or they do not start here; see $log"
  rm -rf "${stage:?}"/*
  return 1
}

# java_unpack_packages STAGE: apt verifies the packages with the machine's keys; this installs nothing.
java_unpack_packages() {
  local stage="$1" package link target
  local -a APT
  private_apt "$stage/apt"
  "${APT[@]}" update && (cd "$stage/apt/archives" && "${APT[@]}" download "${JAVA_PACKAGES[@]}") || return 1
  for package in "$stage"/apt/archives/*.deb; do
    dpkg-deb --extract "$package" "$stage/root" && rm "$package" || return 1
  done
  mv "$stage/root/usr/lib/jvm/java-$JAVA_WANTED-openjdk-amd64" "$stage/jdk" || return 1
  # Its settings are links to /etc, where the unpacking puts nothing.
  while IFS= read -r link; do
    target="$stage/root$(readlink "$link")"
    [[ ! -e "$target" ]] || { rm "$link" && cp -r "$target" "$link"; } || return 1
  done < <(find "$stage/jdk" -type l -lname '/*')
}

# java_from_archive STAGE: makes STAGE/jdk of the official archive, or refuses.
java_from_archive() {
  local stage="$1" archive="$POLIS_CACHE/jdk.tar.gz"
  local url="${POLIS_JDK_URL:-https://github.com/adoptium/temurin$JAVA_WANTED-binaries/releases/download}"
  url="${url%/}/jdk-${TEMURIN_VERSION/+/%2B}/OpenJDK${JAVA_WANTED}U-jdk_x64_linux_hotspot_${TEMURIN_VERSION/+/_}.tar.gz"
  need_room "$POLIS_CACHE" "$JAVA_ROOM_ARCHIVE"
  say "fetching JDK $JAVA_WANTED, Temurin $TEMURIN_VERSION from $url"
  need_curl
  need_certificates >/dev/null
  fetch_verified "$url" "$archive" sha256 "${POLIS_JDK_SHA256:-$TEMURIN_SHA256}"
  mkdir "$stage/jdk" || exit
  unpack "$POLIS_CACHE" "$archive" "$stage/jdk" --gzip --strip-components=1
  rm -f "$archive"
  java_starts "$stage/jdk" || refuse "java: $url is not a JDK $JAVA_WANTED that starts here; see $POLIS_CACHE/java.log" "$JAVA_ELSEWHERE"
}

# java_trust HOME: makes the JDK trust the servers that the machine trusts. Debian's JDK has no list, and the archive's list lacks a company's authorities.
java_trust() {
  local certificates
  certificates="$(need_certificates)" || exit
  rm -f "$1/lib/security/cacerts"
  "$1/bin/java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "$POLIS_REPOSITORY/launcher/script/TrustStore.java" "$certificates" "$1/lib/security/cacerts" \
    >>"$POLIS_CACHE/java.log" 2>&1 || refuse "java: cannot add the certificates in $certificates to the JDK; see $POLIS_CACHE/java.log" "$JAVA_ELSEWHERE"
}
