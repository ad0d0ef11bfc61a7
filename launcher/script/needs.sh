# Refuses a start for which this machine, or the limits of this shell, lack something that a node needs.
# shellcheck shell=bash

# node_runs STATE: succeeds if a node has the number in the lock of the state directory; another process may have got it since.
node_runs() {
  local process
  process="$(cat "$1/node.lock" 2>/dev/null)" && grep -qsF "$NODE_MAIN" "/proc/$process/cmdline"
}

# requires_limits STATE: refuses limits of this machine and shell with which no node starts. A node that runs has proven that they suffice, and uses a part
# of them itself.
requires_limits() {
  if node_runs "$1"; then
    return 0
  fi
  requires_addresses
  requires_threads
  requires_memory
  warn_of_quota
}

# With the smallest heap, a node and its etcd took 165 MiB at their first start, and the kernel ended the node at 150. Later starts may need less. In MiB.
MEMORY_LEAST=150 MEMORY_NEEDED=192

# requires_memory [ROOT]: refuses a machine or a cgroup in which the kernel would end the node, and warns of one in which it may.
requires_memory() {
  local memory limit said remedy="give the machine more memory"
  read -r memory limit < <(memory_limit "${1:-}")
  ((memory < MEMORY_NEEDED)) || return 0
  said="this machine has"
  if [[ "$limit" != "this machine" ]]; then
    said="the cgroup of this shell may use"
    remedy="raise the limit: echo $((MEMORY_NEEDED * 2))M >$limit as root, MemoryMax of a systemd unit, or the memory of the container"
  fi
  said+=" $memory MiB of memory, and a node needs $MEMORY_NEEDED: the kernel"
  ((memory > MEMORY_LEAST)) || refuse "$said would end it" "$remedy"
  say "$said may end it; $remedy"
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
  local name said code=0
  local -a set=() others
  for name in "${JAVA_VARIABLES[@]}"; do
    [[ -z "${!name:-}" ]] || set+=("$name")
  done
  [[ ${#set[@]} != 0 ]] || return 0
  # A debugger's agent waits for the debugger, and another agent may hang.
  [[ "${JAVA_TOOL_OPTIONS:-} ${JDK_JAVA_OPTIONS:-} ${_JAVA_OPTIONS:-}" != *jdwp* ]] || return 0
  said="$(timeout 10 "$1/bin/java" "${JVM_OPTIONS[@]}" -version 2>&1)" || code=$?
  [[ $code != 0 && $code != 124 ]] || return 0
  for name in "${set[@]}"; do
    others=("${JAVA_VARIABLES[@]/#/--unset=}")
    timeout 10 env "${others[@]}" "$name=${!name}" "$1/bin/java" "${JVM_OPTIONS[@]}" -version >/dev/null 2>&1 || set=("$name")
  done
  # The JVM also prints the variables that it has read, and that it ends.
  said="$(sed -E '/^(NOTE: )?Picked up |^Error occurred during init|^Error: (Could not create|A fatal exception)/d' <<<"$said")"
  name="${set[*]}"
  refuse "no JVM starts with the options in the variable ${name// / and }, which is set to: $(for name in "${set[@]}"; do printf '%s ' "${!name}"; done)(the JVM says: ${said%%$'\n'*})" \
    "unset ${set[*]}, or correct the options; a profile of the shell or a systemd unit sets them"
}

# The port of etcd for the parts of a node. A firewall may allow listed ports alone.
LOOPBACK_PORT=7833

# requires_loopback ADDRESS [COMMAND...]: refuses a network in which the node's parts cannot reach each other on this machine, at the node's address if that
# belongs to lo. COMMAND runs a program in the namespaces of the node.
requires_loopback() {
  local address="$1" said code=0 reason=""
  shift
  [[ "$address" == 127.* ]] || address=127.0.0.1
  # Nothing need listen there: "Connection refused" is an answer of the machine.
  said="$("$@" timeout 5 bash -c ": </dev/tcp/$address/$LOOPBACK_PORT" 2>&1)" || code=$?
  [[ ! "$said" =~ Invalid\ argument|Permission\ denied|Operation\ not\ permitted|No\ route\ to\ host ]] || reason=" (${BASH_REMATCH[0]})"
  if [[ "$said" == *"Network is unreachable"* ]] || { [[ $code == 124 ]] && lo_is_down "$@"; }; then
    refuse "the interface lo is down, and the parts of a node reach each other through it" "ip link set lo up, as root"
  elif [[ $code == 124 || -n "$reason" ]]; then
    refuse "this machine does not reach itself at $address, port $LOOPBACK_PORT$reason: a route or a firewall rule is in the way" \
      "ip route get $address, ip rule and nft list ruleset show it: remove it"
  elif [[ "$said" == *"Cannot assign requested address"* ]]; then
    refuse "this machine has no local port left for a connection: it gives the ports $(tr -s '\t ' '-' </proc/sys/net/ipv4/ip_local_port_range)" \
      "give it more: sysctl -w net.ipv4.ip_local_port_range=\"32768 60999\", as root; or end what has them: ss -tanp"
  fi
}

# lo_is_down [COMMAND...]: succeeds if the kernel says so; its first flag is that an interface is up.
lo_is_down() {
  local flags
  flags="$("$@" cat /sys/class/net/lo/flags 2>/dev/null)" && [[ "$flags" == 0x* ]] && ((!(flags & 1)))
}

# place_of PATH: prints the file system of a path that need not exist: its id, that of its disk, which not each has, and where it is mounted.
place_of() {
  local at="$1"
  while [[ ! -e "$at" && "$at" == */* ]]; do
    at="${at%/*}"
  done
  at="${at:-/}"
  stat -f -c %i "$at"
  # The first id may be a number of the device, which another start of the machine gives to another disk.
  printf '%s\n' "$(findmnt -n -o UUID --target "$at" 2>/dev/null | head -n 1)"
  df --output=source,target "$at" | tail -n 1
}

# machine_id: prints what tells this machine from one with a copy of its files; nothing in most containers.
machine_id() {
  cat /etc/machine-id 2>/dev/null || true
}

# place_file STATE: prints the file in which this folder of Polis keeps the file system of the node whose state directory this is.
place_file() {
  printf '%s/places/%s\n' "$POLIS_CACHE" "$(sha256sum <<<"$1" | cut -c 1-16)"
}

# holds_node STATE
holds_node() {
  [[ -f "$1/esp/sealed_configuration.pb" ]]
}

# keep_address STATE: keeps the address at which a node serves, or has served until it was killed, for a start without --address.
keep_address() {
  local address
  address="$(sed -nE '/^curator /{s/^curator \[?([^] ]+)\]?:[0-9]+ .*/\1/p;q}' "$1/ephemeral/listeners" 2>/dev/null)" || true
  [[ -z "$address" || "$address" == "$(cat "$1/address" 2>/dev/null)" ]] || printf '%s\n' "$address" >"$1/address" || true
}

# keep_place STATE: keeps where the state directory of a member is, and its address. Memory and the layers of a container come back with another id, or not at all.
keep_place() {
  local state file said
  holds_node "$1" || return 0
  keep_address "$1"
  state="$(realpath -m "$1")"
  file="$(place_file "$state")"
  case "$(stat -f -c %T "$state")" in
    tmpfs | ramfs | overlayfs) rm -f "$file" && return ;;
  esac
  said="$({ mkdir -p "${file%/*}" && { printf '%s\n%s\n' "$state" "$(machine_id)" && place_of "$state"; } >"$file.new" && mv "$file.new" "$file"; } 2>&1)" ||
    say "a later start cannot know that this node's file system must be mounted, since $file cannot be written: ${said##*: }"
}

# requires_same_place STATE: refuses to begin a node in place of one whose file system is not mounted.
requires_same_place() {
  local state file id=2
  state="$(realpath -m "$1")"
  file="$(place_file "$state")"
  if [[ ! -f "$file" ]] || holds_node "$state"; then
    return 0
  fi
  local -a then now
  mapfile -t then <"$file"
  mapfile -t now < <(printf '%s\n%s\n' "$state" "$(machine_id)" && place_of "$state")
  # The file may have come with a copy of this folder from another machine.
  [[ ${#then[@]} == 5 && ${#now[@]} == 5 && "${then[1]}" == "${now[1]}" ]] || return 0
  [[ -z "${then[3]}" || -z "${now[3]}" ]] || id=3
  [[ "${then[id]}" == "${now[id]}" ]] ||
    refuse "$state held a node on the file system $(described_place "${then[4]}"); now the file system $(described_place "${now[4]}") is at this path, without that node, and a start would make a new cluster" \
      "mount the former file system, and start again; only if that node is lost or not wanted: rm $file"
}

# described_place "SOURCE TARGET"
described_place() {
  local source target
  read -r source target <<<"$1"
  printf '%s, mounted at %s\n' "$source" "$target"
}
