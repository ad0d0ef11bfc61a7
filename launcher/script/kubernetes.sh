# Finds Kubernetes' programs: in a named folder, in the cache, in archives beside the checkout, or in the official downloads. It unpacks Debian's tools for
# containers, firewalls and connections beside them.
# shellcheck shell=bash

# Upstream supports its newest release and the two before it; the flags and configuration files were tested with these.
KUBERNETES_OLDEST=1.34
KUBERNETES_NEWEST=1.36
# The release to use if no folder is named.
KUBERNETES_VERSION=1.36.3
# The first with CRI v1, the only version that a kubelet of these releases supports.
CONTAINERD_OLDEST=1.6.0
# Debian bookworm's, with which all Pods ran except those with user namespaces.
RUNC_OLDEST=1.1.0
# The first whose bridge and portmap write correct rules of nftables.
CNI_OLDEST=1.6.2
# The first with EndpointSlices of discovery.k8s.io/v1.
COREDNS_OLDEST=1.8.4

KUBERNETES_PROGRAMS=(kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl)
CONTAINER_PROGRAMS=(containerd containerd-shim-runc-v2 ctr)
CNI_PROGRAMS=(bridge host-local loopback portmap)
# The programs that Debian's packages may add to a named folder.
DEBIAN_PROGRAMS=(runc busybox)
# Debian's package of each tool that the worker calls, and the folder of the tool.
KUBERNETES_PACKAGES=(runc nftables iptables conntrack ipset ethtool socat busybox-static)
KUBERNETES_TOOLS=(sbin/runc sbin/nft sbin/iptables sbin/conntrack sbin/ipset sbin/ethtool bin/socat bin/busybox)

# Archives made for this repository, by their SHA-256.
declare -A KUBERNETES_ARCHIVES=(
  [kubernetes-server-1.36.3-linux-amd64.tar.xz]=c674581cdad93698233f2133128cbb96ae79c772a61c89418441a5741003d250
  [node-tools-linux-amd64.tar.xz]=e43c3cf599dba9dfeac6e52246af9908a72f8167ff74a7224881c30e6e92ac1e
)

# The official downloads and their digests. That of Kubernetes' own release, a SHA-512, is not known here: the operator gives the SHA-256, or accepts any
# release of the server. Then the script fetches its digest from the same server over HTTPS and keeps it in the cache; later downloads must match it.
KUBERNETES_DIGEST=""
CONTAINERD_VERSION=2.4.1
CONTAINERD_DIGEST=d65eda6a188aac1006848d8060099be88ba9c4bcddbfd9a23a961194710d0dd4
CNI_VERSION=1.9.1
CNI_DIGEST=b98f74a0f8522f0a83867178729c1aa70f2158f90c45a2ca8fa791db1c76b303
COREDNS_VERSION=1.14.7
COREDNS_DIGEST=9a09356438c6d9591cb80011a2a7a52f87fc3a113f6690e41f243f98b98faac9

# MiB on the disk: the programs take 600, and the archives also contain etcd; the official downloads take 500 more until they are unpacked.
KUBERNETES_ROOM_ARCHIVES=800
KUBERNETES_ROOM_DOWNLOADS=1500

KUBERNETES_ELSEWHERE="give a folder with the programs: --kubernetes-dir DIR"

# kubernetes_folder CACHE [NAMED]: prints a folder with bin/, cni/ and root/. Several callers at once provide it only once.
kubernetes_folder() {
  local cache="$1" named="${2:-${POLIS_KUBERNETES:-}}" FETCH_FOR=kubernetes FETCH_ELSEWHERE="$KUBERNETES_ELSEWHERE"
  mkdir -p "$cache" || return
  if [[ -n "$named" ]]; then
    [[ -d "$named" ]] || refuse "kubernetes: $named is not a folder" "name the folder that holds kube-apiserver, kubelet and the others, or leave the option out"
    named="$(cd "$named" && pwd)" || return
    if kubernetes_complete "$named"; then
      kubernetes_check_release "$named" "$(kubernetes_noted "$named")"
      printf '%s\n' "$named"
      return
    fi
  elif kubernetes_complete "$cache/kubernetes-$KUBERNETES_VERSION"; then
    printf '%s\n' "$cache/kubernetes-$KUBERNETES_VERSION"
    return
  fi
  {
    flock 9
    kubernetes_provide "$cache" "$named"
  } 9>"$cache/kubernetes.lock"
}

# kubernetes_complete FOLDER: succeeds if this script made it, and no program is missing. The script writes the file with the versions last.
kubernetes_complete() {
  local program
  [[ -s "$1/versions" && -d "$1/root/usr" ]] || return 1
  for program in "${KUBERNETES_PROGRAMS[@]}" "${CONTAINER_PROGRAMS[@]}" coredns "${DEBIAN_PROGRAMS[@]}"; do
    [[ -x "$1/bin/$program" ]] || return 1
  done
  for program in "${CNI_PROGRAMS[@]}"; do
    [[ -x "$1/cni/$program" ]] || return 1
  done
}

# kubernetes_noted FOLDER: prints the release of a complete folder.
kubernetes_noted() {
  sed -n 's/^kubernetes //p' "$1/versions"
}

# kubernetes_provide CACHE NAMED: makes the folder and prints it. It appears under its name when it is complete and its programs have reported their versions.
kubernetes_provide() {
  local cache="$1" named="$2" stage made
  if [[ -z "$named" ]] && kubernetes_complete "$cache/kubernetes-$KUBERNETES_VERSION"; then
    printf '%s\n' "$cache/kubernetes-$KUBERNETES_VERSION" # Another call made it meanwhile.
    return
  fi
  [[ "$(uname -m)" == x86_64 ]] || refuse "kubernetes: this machine is $(uname -m); archives, downloads and this script are for x86_64" "run it on an x86_64 machine"
  # Only the holder of the lock provides: older files come from a killed call.
  rm -rf "$cache"/kubernetes.*.new
  stage="$(mktemp -d "$cache/kubernetes.XXXXXX.new")" || refuse "kubernetes: cannot write $cache" "make it writable, with room for the programs"
  # Only its maker may read a folder of mktemp, but every user that may start a node needs the programs.
  chmod 755 "$stage"
  # A refusal ends this shell and must leave nothing unfinished. The subshell has its own trap.
  (
    trap 'rm -rf "$stage"' EXIT
    mkdir "$stage/bin" "$stage/cni" || exit
    if [[ -n "$named" ]]; then
      kubernetes_from_folder "$named" "$stage"
      made="$(kubernetes_named_place "$cache" "$named" "$stage")" || exit
    else
      kubernetes_from_archives "$cache" "$stage" || kubernetes_from_downloads "$cache" "$stage"
      made="$cache/kubernetes-$KUBERNETES_VERSION"
    fi
    kubernetes_add_tools "$cache" "$stage"
    kubernetes_check "${named:-$stage}" "$stage" >"$stage/versions" || exit
    # This makes the links to a named folder each time, but keeps those of a running node if they are the same.
    if ! kubernetes_complete "$made" || [[ "$(kubernetes_content "$made")" != "$(kubernetes_content "$stage")" ]]; then
      rm -rf "$made" && mv "$stage" "$made" || exit
    fi
    printf '%s\n' "$made"
  )
}

# kubernetes_named_place CACHE NAMED STAGE: prints the place of the links to a named folder, which two folders of one release do not share.
kubernetes_named_place() {
  local version
  version="$(kubernetes_version "$3/bin/kubelet")" ||
    refuse "kubernetes: $(readlink "$3/bin/kubelet") does not report its version" "install it again, since it is damaged or made for another machine; run with --version, it shows more"
  printf '%s/kubernetes-%s-%s\n' "$1" "$version" "$(printf '%s' "$2" | sha256sum | cut -c 1-8)"
}

# kubernetes_content FOLDER: prints the versions and links of a folder, equal for folders with the same programs.
kubernetes_content() {
  (cd "$1" && cat versions && find bin cni -printf '%p %l\n' | LC_ALL=C sort)
}

# --- a named folder ---

# kubernetes_from_folder NAMED STAGE: links the programs of a flat folder, or of its bin/ and cni/.
kubernetes_from_folder() {
  local named="$1" stage="$2" program found
  local -a missing=()
  for program in "${KUBERNETES_PROGRAMS[@]}" "${CONTAINER_PROGRAMS[@]}" coredns "${CNI_PROGRAMS[@]}" "${DEBIAN_PROGRAMS[@]}"; do
    if found="$(kubernetes_find "$named" "$program")"; then
      [[ -x "$found" ]] || refuse "kubernetes: $found is not executable" "chmod +x $found"
      ln -s "$(readlink -f "$found")" "$stage/$(kubernetes_place "$program")/$program" || exit
    elif [[ " ${DEBIAN_PROGRAMS[*]} " != *" $program "* ]]; then
      missing+=("$program")
    fi
  done
  [[ ${#missing[@]} == 0 ]] ||
    refuse "kubernetes: $named has no ${missing[*]}" "put them there, flat or into bin/ and cni/, or leave the option out to use $KUBERNETES_VERSION"
}

# kubernetes_place PROGRAM: prints bin or cni.
kubernetes_place() {
  if [[ " ${CNI_PROGRAMS[*]} " == *" $1 "* ]]; then echo cni; else echo bin; fi
}

# kubernetes_find FOLDER PROGRAM: prints the file, or fails.
kubernetes_find() {
  local place
  for place in "$(kubernetes_place "$2")/" bin/ ""; do
    if [[ -f "$1/$place$2" ]]; then
      printf '%s\n' "$1/$place$2"
      return
    fi
  done
  return 1
}

# --- archives beside the checkout ---

# kubernetes_archives: prints the folder with the archives, or fails. A worktree has them beside the main one.
kubernetes_archives() {
  local folder main name
  if [[ -n "${POLIS_KUBERNETES_ARCHIVES:-}" ]]; then
    for name in "${!KUBERNETES_ARCHIVES[@]}"; do
      [[ -f "$POLIS_KUBERNETES_ARCHIVES/$name" ]] ||
        refuse "kubernetes: POLIS_KUBERNETES_ARCHIVES names $POLIS_KUBERNETES_ARCHIVES, which has no $name" "put it there, or unset the variable"
    done
    printf '%s\n' "$POLIS_KUBERNETES_ARCHIVES"
    return
  fi
  local -a folders=("$POLIS_REPOSITORY/../shared/kubernetes")
  # Without git, and in a copy without its history, there is no other place.
  if main="$(git -C "$POLIS_REPOSITORY" rev-parse --path-format=absolute --git-common-dir 2>/dev/null)"; then
    folders+=("$main/../../shared/kubernetes")
  fi
  for folder in "${folders[@]}"; do
    if kubernetes_has_archives "$folder"; then
      (cd "$folder" && pwd)
      return
    fi
  done
  return 1
}

kubernetes_has_archives() {
  local name
  for name in "${!KUBERNETES_ARCHIVES[@]}"; do
    [[ -f "$1/$name" ]] || return 1
  done
}

# kubernetes_from_archives CACHE STAGE: fails if there are no archives.
kubernetes_from_archives() {
  local cache="$1" stage="$2" folder name digest
  folder="$(kubernetes_archives)" || { local code=$?; [[ $code == 1 ]] && return 1; exit "$code"; }
  need_room "$cache" "$KUBERNETES_ROOM_ARCHIVES"
  say "unpacking Kubernetes $KUBERNETES_VERSION from $folder"
  mkdir "$stage/unpacked" || exit
  for name in "${!KUBERNETES_ARCHIVES[@]}"; do
    digest="$(sha256sum <"$folder/$name" | cut -d ' ' -f 1)" || refuse "kubernetes: cannot read $folder/$name" "make it readable"
    [[ "$digest" == "${KUBERNETES_ARCHIVES[$name]}" ]] ||
      refuse "kubernetes: $folder/$name has the SHA-256 $digest, and not ${KUBERNETES_ARCHIVES[$name]}: it is damaged or another file; ./polis has unpacked nothing" \
        "copy it again, or remove it; then ./polis downloads the official release"
    unpack "$cache" "$folder/$name" "$stage/unpacked" --xz --strip-components=1
  done
  take "$folder" "$stage/unpacked" "$stage/bin" "${KUBERNETES_PROGRAMS[@]}" "${CONTAINER_PROGRAMS[@]}" runc coredns
  take "$folder" "$stage/unpacked/cni" "$stage/cni" "${CNI_PROGRAMS[@]}"
  rm -rf "$stage/unpacked"
}

# take SOURCE FROM TO PROGRAM...: moves unpacked programs to their place.
take() {
  local source="$1" from="$2" to="$3" program
  shift 3
  for program in "$@"; do
    [[ -f "$from/$program" ]] || refuse "kubernetes: $source does not contain $program" "$KUBERNETES_ELSEWHERE"
    mv "$from/$program" "$to/" || exit
  done
}

# --- the official downloads ---

# kubernetes_from_downloads CACHE STAGE
kubernetes_from_downloads() {
  local cache="$1" stage="$2" downloads="$1/kubernetes-downloads" algorithm digest
  local kubernetes="${POLIS_KUBERNETES_URL:-https://dl.k8s.io}/v$KUBERNETES_VERSION/kubernetes-server-linux-amd64.tar.gz"
  local containerd="${POLIS_CONTAINERD_URL:-https://github.com/containerd/containerd/releases/download}/v$CONTAINERD_VERSION/containerd-$CONTAINERD_VERSION-linux-amd64.tar.gz"
  local cni="${POLIS_CNI_URL:-https://github.com/containernetworking/plugins/releases/download}/v$CNI_VERSION/cni-plugins-linux-amd64-v$CNI_VERSION.tgz"
  local coredns="${POLIS_COREDNS_URL:-https://github.com/coredns/coredns/releases/download}/v$COREDNS_VERSION/coredns_${COREDNS_VERSION}_linux_amd64.tgz"
  kubernetes_consent "$cache" || exit
  need_curl
  need_room "$cache" "$KUBERNETES_ROOM_DOWNLOADS"
  mkdir -p "$downloads" || exit
  digest="$(kubernetes_digest "$cache" "$kubernetes")" || exit
  algorithm="${digest% *}"
  fetch_verified "$coredns" "$downloads/coredns.tgz" sha256 "$COREDNS_DIGEST"
  fetch_verified "$cni" "$downloads/cni.tgz" sha256 "$CNI_DIGEST"
  fetch_verified "$containerd" "$downloads/containerd.tar.gz" sha256 "$CONTAINERD_DIGEST"
  fetch_verified "$kubernetes" "$downloads/kubernetes.tar.gz" "$algorithm" "${digest#* }"
  mkdir -p "$stage/unpacked/"{coredns,cni,containerd} || exit
  unpack "$cache" "$downloads/coredns.tgz" "$stage/unpacked/coredns" --gzip
  take "$coredns" "$stage/unpacked/coredns" "$stage/bin" coredns
  unpack "$cache" "$downloads/cni.tgz" "$stage/unpacked/cni" --gzip
  take "$cni" "$stage/unpacked/cni" "$stage/cni" "${CNI_PROGRAMS[@]}"
  unpack "$cache" "$downloads/containerd.tar.gz" "$stage/unpacked/containerd" --gzip
  take "$containerd" "$stage/unpacked/containerd/bin" "$stage/bin" "${CONTAINER_PROGRAMS[@]}"
  # This unpacks only the programs: the images beside them are several times as large.
  unpack "$cache" "$downloads/kubernetes.tar.gz" "$stage/bin" --gzip --strip-components=3 "${KUBERNETES_PROGRAMS[@]/#/kubernetes/server/bin/}"
  rm -rf "$downloads" "$stage/unpacked"
}

# kubernetes_consent CACHE: refuses a release without a known digest, unless the operator accepts that.
kubernetes_consent() {
  [[ -z "$KUBERNETES_DIGEST" && -z "${POLIS_KUBERNETES_SHA256:-}" && "${POLIS_KUBERNETES_UNVERIFIED:-}" != yes ]] || return 0
  [[ ! -s "$1/kubernetes-$KUBERNETES_VERSION.sha512" ]] || return 0
  refuse "kubernetes: this repository has no digest of the official release $KUBERNETES_VERSION, so ./polis could not detect a forged one" \
    "./polis provision kubernetes --sha256 DIGEST, with a digest that you trust; --unverified accepts any file of the server; or $KUBERNETES_ELSEWHERE"
}

# kubernetes_digest CACHE URL: prints algorithm and digest that a release must have: the known digest, the operator's, or that of the first use.
kubernetes_digest() {
  local kept="$1/kubernetes-$KUBERNETES_VERSION.sha512" fetched="$1/kubernetes-downloads/digest" digest
  if [[ -n "$KUBERNETES_DIGEST" ]]; then
    printf 'sha512 %s\n' "$KUBERNETES_DIGEST"
    return
  fi
  if [[ -n "${POLIS_KUBERNETES_SHA256:-}" ]]; then
    [[ "$POLIS_KUBERNETES_SHA256" =~ ^[0-9a-f]{64}$ ]] ||
      refuse "kubernetes: \"$POLIS_KUBERNETES_SHA256\" is not a SHA-256" "give 64 hexadecimal digits in lower case"
    printf 'sha256 %s\n' "$POLIS_KUBERNETES_SHA256"
    return
  fi
  if [[ ! -s "$kept" ]]; then
    rm -f "$fetched"
    fetch "$2.sha512" "$fetched"
    digest="$(tr -d '[:space:]' <"$fetched")"
    [[ "$digest" =~ ^[0-9a-f]{128}$ ]] || refuse "kubernetes: $2.sha512 has no SHA-512" "try again later, or $KUBERNETES_ELSEWHERE"
    say "Kubernetes $KUBERNETES_VERSION has the SHA-512 ${digest:0:16}…, according to its server; ./polis keeps it in $kept"
    printf '%s\n' "$digest" >"$kept.new" && mv "$kept.new" "$kept" || exit
  fi
  printf 'sha512 %s\n' "$(<"$kept")"
}

# --- Debian's tools ---

# kubernetes_add_tools CACHE STAGE: puts Debian's tools into STAGE/root, and those that the folder lacks into STAGE/bin.
kubernetes_add_tools() {
  local cache="$1" stage="$2"
  local -A from=([runc]=usr/sbin/runc [busybox]=usr/bin/busybox)
  local program
  kubernetes_tools "$cache"
  cp -a "$cache/kubernetes-tools" "$stage/root" || refuse "kubernetes: cannot write $stage/root" "make room there"
  for program in "${DEBIAN_PROGRAMS[@]}"; do
    [[ ! -e "$stage/bin/$program" ]] || continue
    if [[ -x "$stage/root/${from[$program]}" ]]; then
      cp "$stage/root/${from[$program]}" "$stage/bin/$program" || exit
    else
      ln -s "$(type -P "$program")" "$stage/bin/$program" || exit
    fi
  done
}

# kubernetes_tools CACHE: makes CACHE/kubernetes-tools, a root with Debian's tools and the libraries that the machine lacks. Without apt, it uses the
# machine's own.
kubernetes_tools() {
  local cache="$1" folder="$1/kubernetes-tools" tool
  local -a missing=()
  [[ ! -d "$folder" ]] || return 0
  rm -rf "$folder".*
  if has_program apt-get && has_program dpkg-deb; then
    say "fetching Debian's packages ${KUBERNETES_PACKAGES[*]}"
    if while_waiting "fetching Debian's packages for Kubernetes" "$cache/kubernetes.log" kubernetes_fetch_tools "$folder.new"; then
      mv "$folder.new" "$folder" || exit
      return
    fi
    rm -rf "$folder".*
  fi
  for tool in "${KUBERNETES_TOOLS[@]##*/}"; do
    has_program "$tool" || missing+=("$tool")
  done
  [[ ${#missing[@]} == 0 ]] ||
    refuse "kubernetes: the machine lacks ${missing[*]}, and ./polis could not fetch Debian's packages; see $cache/kubernetes.log" "install ${KUBERNETES_PACKAGES[*]}"
  mkdir -p "$folder.new/usr/"{bin,sbin,lib} && mv "$folder.new" "$folder" || exit
}

# kubernetes_fetch_tools ROOT: apt verifies the packages with the machine's keys; this installs nothing.
kubernetes_fetch_tools() {
  local root="$1" work="$1.apt" package place name
  local -a APT packages
  private_apt "$work"
  "${APT[@]}" update || return 1
  # The packages themselves even if the machine has them, and the missing packages that they need. It keeps the machine's C library, which fits its loader.
  mapfile -t packages < <({
    "${APT[@]}" install --simulate --no-install-recommends "${KUBERNETES_PACKAGES[@]}" | awk '$1 == "Inst" && $2 != "libc6" { print $2 }'
    printf '%s\n' "${KUBERNETES_PACKAGES[@]}"
  } | sort -u)
  (cd "$work/archives" && "${APT[@]}" download "${packages[@]}") || return 1
  mkdir -p "$root/usr/"{bin,sbin,lib} || return 1
  # Packages of releases before the merge of /usr still name these.
  for place in bin sbin lib; do
    ln -s "usr/$place" "$root/$place" || return 1
  done
  for package in "$work"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar --extract --keep-directory-symlink --no-same-owner --directory "$root" || return 1
  done
  # The links that update-alternatives would make at an installation.
  for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
    [[ -e "$root/usr/sbin/$name" ]] || ln -s xtables-nft-multi "$root/usr/sbin/$name" || return 1
  done
  rm -rf "$root/usr/share/"{doc,man,locale,lintian,bash-completion,bug} "$work"
  for name in "${KUBERNETES_TOOLS[@]}"; do
    [[ -x "$root/usr/$name" ]] || { echo "the packages have no usr/$name"; return 1; }
  done
}

# --- versions ---

# kubernetes_version FILE [OPTION...]: prints the version that a program reports, or fails. It ignores the other output.
kubernetes_version() {
  local file="$1" text
  shift
  [[ $# -gt 0 ]] || set -- --version
  text="$("$file" "$@" 2>&1 </dev/null)" || return 1
  [[ "$text" =~ (^|[^0-9.])v?([0-9]+\.[0-9]+\.[0-9]+) ]] || return 1
  printf '%s\n' "${BASH_REMATCH[2]}"
}

# kubernetes_check SHOWN STAGE: prints the version of each part; refuses a part that does not run or does not fit. SHOWN is the folder that a person knows.
kubernetes_check() {
  local stage="$2" program version kubernetes="" file
  for program in "${KUBERNETES_PROGRAMS[@]}"; do
    file="$(kubernetes_shown "$1" "$2" "$program")"
    if [[ "$program" == kubectl ]]; then
      version="$(kubernetes_version "$stage/bin/$program" version --client)"
    else
      version="$(kubernetes_version "$stage/bin/$program")"
    fi || kubernetes_silent "$file"
    kubernetes_check_release "$file" "$version"
    : "${kubernetes:=$version}"
    [[ "${version%.*}" == "${kubernetes%.*}" ]] ||
      refuse "kubernetes: $file is $version, and kube-apiserver beside it $kubernetes" "give programs of one release"
  done
  printf 'kubernetes %s\n' "$kubernetes"
  kubernetes_check_part "$@" containerd "$CONTAINERD_OLDEST" --version
  kubernetes_check_part "$@" runc "$RUNC_OLDEST" --version
  kubernetes_check_part "$@" coredns "$COREDNS_OLDEST" -version
  kubernetes_check_part "$@" bridge "$CNI_OLDEST" --version
}

# kubernetes_check_release WHAT VERSION: refuses a release that is not supported.
kubernetes_check_release() {
  local release="${2%.*}"
  if ! version_at_least "$release" "$KUBERNETES_OLDEST" || ! version_at_least "$KUBERNETES_NEWEST" "$release"; then
    refuse "kubernetes: $1 is $2; supported are $KUBERNETES_OLDEST to $KUBERNETES_NEWEST" "give one of these releases, or leave the option out to use $KUBERNETES_VERSION"
  fi
}

# kubernetes_check_part SHOWN STAGE PROGRAM OLDEST OPTION
kubernetes_check_part() {
  local program="$3" oldest="$4" version file place
  file="$(kubernetes_shown "$1" "$2" "$program")"
  place="$(kubernetes_place "$program")"
  # Debian's runc has a library beside it.
  version="$(LD_LIBRARY_PATH="$2/root/usr/lib/x86_64-linux-gnu" kubernetes_version "$2/$place/$program" "$5")" || kubernetes_silent "$file"
  version_at_least "$version" "$oldest" || refuse "kubernetes: $file is $version, older than $oldest" "give a newer one, or leave the option out to use the parts of $KUBERNETES_VERSION"
  printf '%s %s\n' "$program" "$version"
}

kubernetes_silent() {
  refuse "kubernetes: $1 does not report its version" "install it again, since it is damaged or made for another machine; run with --version, it shows more"
}

# kubernetes_shown SHOWN STAGE PROGRAM: prints the path of a program that a person knows.
kubernetes_shown() {
  kubernetes_find "$1" "$3" || readlink -f "$2/$(kubernetes_place "$3")/$3"
}
