# Refuses a start for which this machine, or the limits of this shell, lack something that a node needs.
# shellcheck shell=bash

# With the smallest heap, a node and its etcd took 165 MiB at their first start, and the kernel ended the node at 150. In MiB.
MEMORY_LEAST=192

# requires_memory [ROOT]: refuses a machine or a cgroup in which the kernel would end the node.
requires_memory() {
  local memory limit
  read -r memory limit < <(memory_limit "${1:-}")
  ((memory >= MEMORY_LEAST)) && return
  [[ "$limit" != "this machine" ]] ||
    refuse "this machine has $memory MiB of memory, and a node needs $MEMORY_LEAST: the kernel would end it" "give the machine more memory"
  refuse "the cgroup of this shell may use $memory MiB of memory, and a node needs $MEMORY_LEAST: the kernel would end it" \
    "raise the limit: echo $((MEMORY_LEAST * 2))M >$limit as root, MemoryMax of a systemd unit, or the memory of the container"
}

# etcd maps a file of up to 10 GiB, and reserved 12 GiB of addresses, the JVM 4 GiB. In KiB.
ADDRESSES_LEAST=$((14 * 1024 * 1024))

# requires_addresses: refuses a limit of address space with which the programs do not start. They reserve much more than they use.
requires_addresses() {
  local most
  most="$(ulimit -v)"
  [[ "$most" == unlimited ]] || ((most >= ADDRESSES_LEAST)) ||
    refuse "a process may reserve $most KiB of addresses here (ulimit -v), and etcd needs $ADDRESSES_LEAST, of which it uses little" \
      "end the limit: ulimit -v unlimited, LimitAS of a systemd unit, or \"as\" in /etc/security/limits.conf; --heap and a cgroup limit the memory itself"
}

# A node of a machine with two processors has 40 threads and its etcd 8; a start also runs short programs.
THREADS_LEAST=80

# requires_threads [ROOT]: refuses a limit of processes and threads that a node would exceed: that of a cgroup, or of this user, which root does not have.
requires_threads() {
  local root="${1:-}" file most now
  while read -r file; do
    most="$(<"$file")"
    now="$(cat "${file%pids.max}pids.current" 2>/dev/null || echo 0)"
    [[ "$most" == max ]] || ((most - now >= THREADS_LEAST)) ||
      refuse "the cgroup of this shell may have $most processes and threads, of which $now are there; a node and its etcd need $THREADS_LEAST" \
        "raise the limit: echo $((most + THREADS_LEAST * 2)) >$file as root, TasksMax of a systemd unit, or the limit of the container"
  done < <(cgroup_files pids pids.max pids.max "$root")
  most="$(ulimit -u)"
  [[ "$most" != unlimited && "$(id -u)" != 0 ]] || return 0
  # Processes end meanwhile.
  now="$({ find /proc/[0-9]*/task -mindepth 1 -maxdepth 1 -user "$(id -u)" 2>/dev/null || true; } | wc -l)"
  ((most - now >= THREADS_LEAST)) ||
    refuse "the user $(id -un) may have $most processes and threads, of which $now are there; a node and its etcd need $THREADS_LEAST" \
      "raise the limit: ulimit -u as root, LimitNPROC of a systemd unit, or nproc in /etc/security/limits.conf"
}

# The share of a processor, in percent, below which a start takes more than twice as long. It computes for six seconds.
PROCESSOR_LEAST=50 PROCESSOR_SECONDS=6

# warn_of_quota [ROOT]: says how slow a start is in a cgroup with a small share of a processor.
warn_of_quota() {
  local file quota period percent
  while read -r file; do
    read -r quota period <"$file"
    [[ -n "$period" ]] || period="$(<"${file%quota_us}period_us")"
    [[ "$quota" =~ ^[0-9]+$ ]] || continue
    percent=$((quota * 100 / period))
    ((percent >= PROCESSOR_LEAST)) ||
      say "the cgroup of this shell may use $percent % of a processor ($file): a start takes $((PROCESSOR_SECONDS * 100 / (percent + 1))) s or longer there, and calls and leases are late; CPUQuota of a systemd unit or the limit of the container gives it more"
  done < <(cgroup_files cpu cpu.cfs_quota_us cpu.max "${1:-}")
}

# Each JVM takes options from these; the second one only if its program "java" starts it.
JAVA_VARIABLES=(JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS)

# requires_java_options JAVA_HOME: refuses a variable with options with which no JVM of Polis starts.
requires_java_options() {
  local name said
  local -a set=() others
  for name in "${JAVA_VARIABLES[@]}"; do
    [[ -z "${!name:-}" ]] || set+=("$name")
  done
  [[ ${#set[@]} != 0 ]] && ! said="$("$1/bin/java" "${JVM_OPTIONS[@]}" -version 2>&1)" || return 0
  for name in "${set[@]}"; do
    others=("${JAVA_VARIABLES[@]/#/--unset=}")
    env "${others[@]}" "$name=${!name}" "$1/bin/java" "${JVM_OPTIONS[@]}" -version >/dev/null 2>&1 || set=("$name")
  done
  # The JVM also prints the variables that it has read, and that it ends.
  said="$(sed -E '/^(NOTE: )?Picked up |^Error occurred during init|^Error: (Could not create|A fatal exception)/d' <<<"$said")"
  name="${set[*]}"
  refuse "no JVM starts with the options in the variable ${name// / and }, which is set to: $(for name in "${set[@]}"; do printf '%s ' "${!name}"; done)(the JVM says: ${said%%$'\n'*})" \
    "unset ${set[*]}, or correct the options; a profile of the shell or a systemd unit sets them"
}

# requires_loopback ADDRESS [COMMAND...]: refuses a network in which the node's parts cannot reach each other on this machine, at the node's address if that
# belongs to lo. COMMAND runs a program in the namespaces of the node.
requires_loopback() {
  local address="$1" said code=0
  shift
  [[ "$address" == 127.* ]] || address=127.0.0.1
  # Nothing need listen there: "Connection refused" is an answer of the machine.
  said="$("$@" timeout 5 bash -c ": </dev/tcp/$address/9" 2>&1)" || code=$?
  if [[ "$said" == *"Network is unreachable"* || ($code == 124 && "$("$@" ip link show lo 2>/dev/null)" != *[\<,]UP[,\>]*) ]]; then
    refuse "the interface lo is down, and the parts of a node reach each other through it" "ip link set lo up, as root"
  elif [[ $code == 124 || "$said" =~ Invalid\ argument|Permission\ denied|Operation\ not\ permitted|No\ route\ to\ host ]]; then
    refuse "this machine does not reach itself at $address${BASH_REMATCH[0]:+ (${BASH_REMATCH[0]})}: a route or a firewall rule is in the way" \
      "ip route get $address, ip rule and nft list ruleset show it: remove it"
  elif [[ "$said" == *"Cannot assign requested address"* ]]; then
    refuse "this machine has no local port left for a connection: it gives the ports $(tr -s '\t ' '-' </proc/sys/net/ipv4/ip_local_port_range)" \
      "give it more: sysctl -w net.ipv4.ip_local_port_range=\"32768 60999\", as root; or end what has them: ss -tanp"
  fi
}

# place_of PATH: prints the file system of a path that need not exist: its id and where it is mounted.
place_of() {
  local at="$1"
  while [[ ! -e "$at" && "$at" == */* ]]; do
    at="${at%/*}"
  done
  stat -f -c %i "${at:-/}"
  df --output=source,target "${at:-/}" | tail -n 1
}

# place_file STATE: prints the file in which this folder of Polis keeps the file system of the node whose state directory this is.
place_file() {
  printf '%s/places/%s\n' "$POLIS_CACHE" "$(sha256sum <<<"$1" | cut -c 1-16)"
}

# holds_node STATE
holds_node() {
  [[ -f "$1/esp/sealed_configuration.pb" ]]
}

# keep_place STATE: keeps where the state directory of a member is.
keep_place() {
  local file said
  holds_node "$1" || return 0
  file="$(place_file "$1")"
  said="$({ mkdir -p "${file%/*}" && { printf '%s\n' "$1" && place_of "$1"; } >"$file.new" && mv "$file.new" "$file"; } 2>&1)" ||
    say "a later start cannot know that this node's file system must be mounted, since $file cannot be written: ${said##*: }"
}

# requires_same_place STATE: refuses to begin a node in place of one whose file system is not mounted.
requires_same_place() {
  local state file
  state="$(realpath -m "$1")"
  file="$(place_file "$state")"
  if [[ ! -f "$file" ]] || holds_node "$state"; then
    return 0
  fi
  local -a then now
  mapfile -t then <"$file"
  mapfile -t now < <(place_of "$state")
  [[ ${#then[@]} -lt 3 || ${#now[@]} -lt 2 || "${then[1]}" == "${now[0]}" ]] ||
    refuse "$state held a node on the file system $(described_place "${then[2]}"); now the file system $(described_place "${now[1]}") is at this path, without that node, and a start would make a new cluster" \
      "mount the former file system, and start again; only if that node is lost or not wanted: rm $file"
}

# described_place "SOURCE TARGET"
described_place() {
  local source target
  read -r source target <<<"$1"
  printf '%s, mounted at %s\n' "$source" "$target"
}
