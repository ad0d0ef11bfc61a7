# Starts and stops one node of the built distribution.
# shellcheck shell=bash

NODE_MAIN=dev.polis.node.Main

# A node prints the errors of the system ("No space left on device") with its own messages: both in English, whatever the operator's language is. File names
# keep the operator's encoding.
if [[ -n "${LC_ALL:-}" ]]; then
  export LC_CTYPE="$LC_ALL"
  unset LC_ALL
fi
export LC_MESSAGES=C
# In the C locale, and in one that this machine does not have, as after ssh, Java can name no file beyond ASCII.
[[ ! "$(locale charmap 2>&1)" =~ ANSI_X3|Cannot\ set ]] || export LC_ALL=C.UTF-8

# The options of every JVM of Polis. C1 alone and the serial collector: half of the CPU time and two thirds of the memory at start, and a node's own code
# never limits its throughput. Compact headers and a heap that starts small, where the JVM would take a 64th of the machine at once, keep a control plane
# within 150 MiB; so does returning to the system, each ten seconds, the memory that the start took from malloc. A node without memory is less useful than a
# restarted one; its children continue meanwhile.
# -Xmx is for the command line and a node in a training; node_heap computes a node's.
# Method handles for reflection only help a method that is called a thousand times; making them takes a fifth of a start's CPU time, since no AOT cache has
# those of a bundle's classes. No virtual thread may wait below a reflective call, because a native call keeps its carrier; a followed service is not called so.
# Netty names connections after the machine; on a machine without a network card it would print a warning and use random bytes.
# In some languages Java writes numbers with other digits, or capital letters with other small ones; etcd and the node's own files read neither.
# A peer's message of a handshake has at most 8 KiB; the JDK would keep 32 KiB for a stranger, and copy them with each received piece. The largest measured
# message is a hello of Go with a ticket, 1801 bytes; the largest possible one holds two certificates of 2 KiB in its ticket, as many as a node reads: 6.2
# KiB.
JVM_OPTIONS=(
  -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+UseCompactObjectHeaders
  -Xms16m -Xmx96m -XX:ReservedCodeCacheSize=48m -XX:TrimNativeHeapInterval=10000
  -XX:+CrashOnOutOfMemoryError -XX:-CreateCoredumpOnCrash
  --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=deny
  -Duser.language=en
  -Djdk.tls.maxHandshakeMessageSize=8192
  -Djdk.reflect.useNativeAccessorOnly=true
  -Dio.netty.machineId=02:00:00:00:00:00:00:01
)

# node_class_path: prints the launcher's libraries one by one, because an AOT cache depends on their order.
node_class_path() {
  local IFS=: LC_ALL=C
  local -a jars=("$DISTRIBUTION"/lib/*.jar)
  printf '%s\n' "${jars[*]}"
}

# The heap of a node is an eighth of the memory, since etcd and Pods need the rest; 96 MiB suffice for a control plane, and no load that admission accepts has
# filled more than a gibibyte. In MiB.
HEAP_SHARE=8 HEAP_LEAST=96 HEAP_MOST=1024

# From 32 GiB on the JVM uses other object pointers, which fit no AOT cache. In MiB.
HEAP_LIMIT=$((31 * 1024))

# cgroup_files CONTROLLER FILE1 FILE2 [ROOT]: prints the files of a limit that holds for this process: FILE1 of the controller's hierarchy of version 1, FILE2
# of version 2, of its own cgroup and of those above. In a container the path may belong to the machine outside, and its own group is the uppermost.
cgroup_files() {
  local root="${4:-}" hierarchy controllers path folder file
  while IFS=: read -r hierarchy controllers path; do
    if [[ "$hierarchy" == 0 ]]; then
      folder="$root/sys/fs/cgroup" file="$3"
    elif [[ ",$controllers," == *",$1,"* ]]; then
      folder="$root/sys/fs/cgroup/$1" file="$2"
    else
      continue
    fi
    while true; do
      path="${path%/}"
      [[ ! -r "$folder$path/$file" ]] || printf '%s\n' "$folder$path/$file"
      [[ -n "$path" ]] || break
      path="${path%/*}"
    done
  done < <(cat "$root/proc/self/cgroup" 2>/dev/null)
}

# memory_limit [ROOT]: prints how many MiB this process may use, and what limits them: the file of a cgroup, or the machine. ROOT is for tests.
memory_limit() {
  local root="${1:-}" least="" limit="this machine" key value file
  while read -r key value _; do
    [[ "$key" != MemTotal: ]] || least=$((value / 1024))
  done <"$root/proc/meminfo"
  while read -r file; do
    value="$(<"$file")"
    # "max" is no limit, and neither is a number with more digits than the memory of any machine.
    if [[ "$value" =~ ^[0-9]{1,15}$ ]] && ((value / 1048576 < least)); then
      least=$((value / 1048576)) limit="$file"
    fi
  done < <(cgroup_files memory memory.limit_in_bytes memory.max "$root")
  printf '%s %s\n' "$least" "$limit"
}

# machine_memory [ROOT]: prints how many MiB this process may use: the machine's, or less if a cgroup of version 2 or 1 limits it. ROOT is for tests.
machine_memory() {
  local memory
  memory="$(memory_limit "${1:-}")"
  printf '%s\n' "${memory%% *}"
}

# node_heap MEMORY [SIZE]: prints the largest heap of a node in MiB, for so many MiB of memory; SIZE is the operator's value, such as 512m or 2g.
node_heap() {
  local memory="$1" wanted="${2:-}" heap
  if [[ -z "$wanted" ]]; then
    heap=$((memory / HEAP_SHARE))
    ((heap > HEAP_LEAST)) || heap=$HEAP_LEAST
    ((heap < HEAP_MOST)) || heap=$HEAP_MOST
  else
    [[ "$wanted" =~ ^([1-9][0-9]{0,6})([mMgG])$ ]] || usage "--heap $wanted: write a number and m or g, such as 512m or 2g"
    heap="${BASH_REMATCH[1]}"
    [[ "${BASH_REMATCH[2]}" == [mM] ]] || heap=$((heap * 1024))
    ((heap >= HEAP_LEAST)) || refuse "--heap $wanted: a node needs $HEAP_LEAST MiB" "give more, or leave --heap out"
    ((heap <= HEAP_LIMIT)) || refuse "--heap $wanted: more than $HEAP_LIMIT MiB make the JVM slower and not larger" "give less"
    ((heap < memory)) || refuse "--heap $wanted: the machine has $memory MiB of memory, which etcd and Kubernetes also need" "give less, or leave --heap out"
  fi
  printf '%s\n' "$heap"
}

# A node opens some hundred files and connections; the JVM raises its own limit to the hard one.
DESCRIPTORS_LEAST=1024

# requires_descriptors: refuses a limit of open files with which neither a node nor its command line works.
requires_descriptors() {
  local most
  most="$(ulimit -Hn)"
  [[ "$most" == unlimited ]] || ((most >= DESCRIPTORS_LEAST)) ||
    refuse "a process may open $most files here, and a node needs $DESCRIPTORS_LEAST" \
      "raise the limit: ulimit -n as root, LimitNOFILE of a systemd unit, or nofile in /etc/security/limits.conf"
}

# requires_writable STATE: makes a state directory, and refuses one in which this user can make no file.
requires_writable() {
  local state="$1" said owner
  if said="$(mkdir -p "$state" 2>&1)" && said="$(mktemp "$state/.writable.XXXXXX" 2>&1)"; then
    rm -f "$said"
    return
  fi
  while [[ ! -e "$state" && "$state" == */* ]]; do
    state="${state%/*}"
  done
  owner="$(stat -c %U "${state:-/}")"
  case "$said" in
    *"Read-only file system") refuse "$state is on a file system that is mounted read-only" "mount it writable (a disk that failed is often remounted read-only: see the kernel log), or name another --state" ;;
    *"No space left on device") refuse "the file system of $state takes no more files" "free some space there: df -h $state shows blocks, df -i $state the number of files" ;;
    *"Permission denied") refuse "$state belongs to $owner, and the user $(id -un) can make no file there" "start the node as $owner, or name another --state" ;;
    *"Operation not permitted") refuse "$state takes no file: Operation not permitted" "lsattr -d $state shows whether it is immutable, which chattr -i $state ends" ;;
    *) refuse "$state takes no file: ${said##*: }" "name another --state, or repair that" ;;
  esac
}

# node_command JAVA_HOME [STATE]: fills NODE with the command line of the launcher, with the AOT cache if there is a fresh one. The cache fits heaps of
# any size. STATE is for a node: its heap, also in NODE_HEAP, is POLIS_HEAP, or fits the machine; and the JVM writes the report of its own end there.
node_command() {
  local cache
  NODE=("$1/bin/java" "${JVM_OPTIONS[@]}")
  if [[ -n "${2:-}" ]]; then
    NODE_MEMORY="$(machine_memory)"
    NODE_HEAP="$(node_heap "$NODE_MEMORY" "${POLIS_HEAP:-}")"
    NODE+=("-Xmx${NODE_HEAP}m" "-XX:ErrorFile=$2/ephemeral/launcher/jvm-error.txt")
  fi
  cache="$(aot_cache "$1")"
  if [[ -f "$cache" ]]; then
    NODE+=("-XX:AOTCache=$cache")
  fi
  NODE+=("-Dpolis.distribution=$DISTRIBUTION" -cp "$(node_class_path)" "$NODE_MAIN")
}

# aot_cache JAVA_HOME: prints the path of the cache for exactly this distribution, Java and options. Any change gives another name, so a node never uses a
# stale one.
aot_cache() {
  local digest
  digest="$({ cat "$DISTRIBUTION/bundles.list" "$1/release" && stat -c '%n %Y %s' "$DISTRIBUTION"/lib/*.jar "$DISTRIBUTION"/ctl/*.jar && printf '%s\n' "${JVM_OPTIONS[@]}" "${AOT_OPTIONS[@]}" "${CTL_OPTIONS[@]}"; } |
    sha256sum)"
  printf '%s/aot/%s.aot\n' "$POLIS_CACHE" "${digest:0:16}"
}

# aot_trained JAVA_HOME ETCD: prints the path of the cache, for tests; makes it first, or waits for the call that makes it.
aot_trained() {
  mkdir -p "$POLIS_CACHE"
  AOT_WAITS=yes aot_train "$@"
  aot_cache "$1"
}

# aot_train JAVA_HOME ETCD: lets the JVM record the classes that it loads and compiles, for the node and for the command line. The cache helps from the second
# start on, so the training records that one: it creates a temporary node, calls it, and starts it again. It runs at the lowest priority, once; a failed
# training costs only slower starts. POLIS_TRAIN=no leaves it out.
aot_train() {
  local cache scratch
  [[ "${POLIS_TRAIN:-}" != no ]] || return 0
  cache="$(aot_cache "$1")"
  [[ ! -f "$cache" ]] || return 0
  (
    if [[ -n "${AOT_WAITS:-}" ]]; then
      flock 7
      [[ ! -f "$cache" ]] || exit 0
    else
      flock -n 7 || exit 0
      renice -n 19 "$BASHPID" >/dev/null
    fi
    mkdir -p "$POLIS_CACHE/aot"
    find "$POLIS_CACHE/aot" -maxdepth 1 -name '*.aot*' -delete
    scratch="$(mktemp -d "$POLIS_CACHE/aot/training.XXXXXX")"
    aot_train_in "$scratch" "$cache" "$@" || say "the training failed; the next start tries again"
    "$1/bin/java" "${JVM_OPTIONS[@]}" -cp "$(node_class_path)" "$NODE_MAIN" stop --state "$scratch"
    rm -rf "$scratch"
  ) 7>"$POLIS_CACHE/aot.lock" >"$POLIS_CACHE/aot.log" 2>&1
}

# aot_train_in SCRATCH CACHE JAVA_HOME ETCD
aot_train_in() {
  local scratch="$1" cache="$2" java="$3" pid waited
  local -a run=("-Dpolis.distribution=$DISTRIBUTION" -cp "$(node_class_path)" "$NODE_MAIN"
    # An address of its own, so that it conflicts with no other node.
    run --state "$scratch" --address 127.83.84.85 --etcd "$4" --security insecure --parameters "$scratch/owner/parameters.json" --home-within 300)
  local -a owner=(--config "$scratch/contexts" --state "$scratch")
  ctl "$java" params make --owner "$scratch/owner" --to "$scratch/owner/parameters.json" || return 1
  # No child of this shell may hold its lock.
  "$java/bin/java" "${JVM_OPTIONS[@]}" "${run[@]}" 7>&- &
  pid=$!
  for ((waited = 0; waited < 3000; waited++)); do
    [[ ! -f "$scratch/ephemeral/launcher/home" ]] || break
    kill -0 "$pid" 2>/dev/null || return 1
    sleep 0.1
  done
  ctl "$java" "${owner[@]}" takeownership &&
    "$java/bin/java" "${JVM_OPTIONS[@]}" "${AOT_OPTIONS[@]}" "-XX:AOTCacheOutput=$cache.ctl.new" "${CTL_OPTIONS[@]}" -cp "$(ctl_class_path)" "$CTL_MAIN" "${owner[@]}" node list &&
    mv "$cache.ctl.new" "$cache.ctl"
  # The restart leaves etcd running for the next start.
  kill -TERM "$pid"
  wait "$pid"
  "$java/bin/java" "${JVM_OPTIONS[@]}" "${AOT_OPTIONS[@]}" "-XX:AOTCacheOutput=$cache.new" "${run[@]}" --until-home 7>&- &&
    mv "$cache.new" "$cache"
}

# More options of a training: profiles are for an optimizing compiler, which C1 is not. Fixed addresses would load the whole cache into memory.
# The JVM's own machine code would need the training's processor: one without AVX ends with SIGILL. Making it at each start takes no measurable time.
AOT_OPTIONS=(-XX:+UnlockDiagnosticVMOptions -XX:-AOTRecordTraining -XX:-AOTReplayTraining -XX:-AOTAdapterCaching -XX:-AOTStubCaching -Xlog:aot=error)

CTL_MAIN=dev.polis.ctl.Ctl

# More options of the command line's JVM. It trusts the cluster's own certificate and no authority of a JDK; Netty would read those 150 certificates before
# the first connection. No AOT cache has the classes of Netty's events for JFR.
CTL_OPTIONS=(-Djavax.net.ssl.trustStore=NONE -Dio.netty.jfr.enabled=false)

# ctl_class_path: prints the libraries one by one, for the same reason as for a node.
ctl_class_path() {
  local IFS=: LC_ALL=C
  local -a jars=("$DISTRIBUTION"/ctl/*.jar)
  printf '%s\n' "${jars[*]}"
}

# ctl JAVA_HOME ARGUMENT...: runs the operator's command line, with its AOT cache if there is a fresh one.
ctl() {
  local home="$1" cache
  shift
  cache="$(aot_cache "$home").ctl"
  local -a trained=()
  [[ ! -f "$cache" ]] || trained=("-XX:AOTCache=$cache")
  POLIS_COMMAND="$0 ctl" "$home/bin/java" "${JVM_OPTIONS[@]}" "${CTL_OPTIONS[@]}" "${trained[@]}" -cp "$(ctl_class_path)" "$CTL_MAIN" "$@"
}

# mark_time STATE: makes an empty file, whose time is now, fills SINCE with its path, and removes those of killed processes.
mark_time() {
  local file
  for file in "$1"/.since.*; do
    [[ -e "/proc/${file##*.}" ]] || rm -f "$file"
  done
  SINCE="$1/.since.$BASHPID"
  : >"$SINCE"
}

# run_node STATE COMMAND...: runs a node in the foreground, with POLIS_INPUT as its input. If its JVM crashes after HOME, for example on a full heap, this
# starts the node again, which finds its children. Ends with the exit code of the last.
run_node() {
  local state="$1" code node since
  shift
  mark_time "$state"
  since="$SINCE"
  # The terminal sends Ctrl-C to the node itself. The shell makes background processes ignore it.
  trap ':' INT
  trap 'kill -TERM "$node" 2>/dev/null || true' TERM
  trap 'kill -HUP "$node" 2>/dev/null || true' HUP
  while true; do
    env --default-signal=INT,QUIT "$@" <&"$POLIS_INPUT" {POLIS_INPUT}<&- &
    node=$!
    while true; do
      code=0
      wait "$node" || code=$?
      # A signal ends the wait and not the node.
      kill -0 "$node" 2>/dev/null || break
    done
    # A JVM leaves its report when it crashes; a killed or stopped node stays down, also if its JVM crashes while "polis down" waits for its end.
    if [[ ! "$state/ephemeral/launcher/jvm-error.txt" -nt "$since" || ! "$state/ephemeral/launcher/home" -nt "$since" || "$state/ephemeral/launcher/power-off" -nt "$since" ]]; then
      rm -f "$since"
      say_killed "$code" "$state"
      return "$code"
    fi
    say "the node's JVM crashed; starting the node again"
    touch "$since"
    again "$@"
    set -- "${AGAIN[@]}"
    exec {POLIS_INPUT}<&- {POLIS_INPUT}</dev/null
  done
}

# say_killed CODE STATE: says that SIGKILL ended a node, which has left no word then; the command line finds out more.
say_killed() {
  [[ "$1" != 137 ]] || say "the node's process was killed (SIGKILL); next: $0 ctl --state $(printf '%q' "$2") health says what is known of it"
}

# again COMMAND...: fills AGAIN with the command line of a second start: the node is a member, and its input has no second key or order.
again() {
  AGAIN=()
  while [[ $# -gt 0 ]]; do
    case "$1" in
      --parameters | --recovery-key | --force-new-cluster | --restore) shift 2 ;;
      *) AGAIN+=("$1") && shift ;;
    esac
  done
}

# follow LOG OFFSET HOME_FILE SINCE PID SECONDS: shows the log from a byte on until the node is HOME or has ended, or the time is over; succeeds if it
# is HOME. A HOME_FILE older than the file SINCE belongs to another run.
follow() {
  local log="$1" offset="$2" home="$3" since="$4" pid="$5" limit=$((SECONDS + $6)) follower
  tail -c "+$((offset + 1))" -f --pid="$pid" "$log" 2>/dev/null &
  follower=$!
  while kill -0 "$pid" 2>/dev/null && [[ ! "$home" -nt "$since" ]] && ((SECONDS < limit)); do
    sleep 0.1
  done
  # The output of the same moment as HOME is still on its way.
  sleep 0.3
  kill "$follower" 2>/dev/null || true
  wait "$follower" 2>/dev/null || true
  [[ "$home" -nt "$since" ]]
}

# kubernetes_roles JAVA STATE PROGRAMS: gives a node that is HOME the roles of Kubernetes, as its owner, and prints the next command.
kubernetes_roles() {
  local java="$1" state="$2" programs="$3" quoted nodes node
  local -a owner roles=(KubernetesController KubernetesWorker)
  quoted="$(printf '%q' "$state")"
  owner=("$0" ctl --state "$quoted")
  if [[ "$(id -u)" != 0 ]]; then
    roles=(KubernetesController)
    say "KubernetesWorker needs root, and this is the user $(id -un): the node gets only KubernetesController, and runs no Pods"
  fi
  if [[ ! -f "$state/owner/owner-key.pem" ]]; then
    say "the owner's key is not in $state/owner; next, on the machine that has it: $0 ctl node role add NODE ${roles[*]}"
    return
  fi
  if [[ ! -f "$state/owner/owner.pem" ]]; then
    ctl "$java" --state "$state" takeownership </dev/null >&2 || return
  fi
  # A single node has one line below the title; otherwise the owner chooses which node runs Pods.
  nodes="$(ctl "$java" --state "$state" node list </dev/null)" || return
  node="$(awk 'NR > 1 && $1 != "" { print $1 }' <<<"$nodes")"
  if [[ "$node" == *$'\n'* ]]; then
    say "the cluster has several nodes; next: ${owner[*]} node role add NODE ${roles[*]}"
    return
  fi
  ctl "$java" --state "$state" node role add "$node" "${roles[@]}" </dev/null >&2 || return
  say "next: ${owner[*]} kubeconfig, then $programs/bin/kubectl get nodes; ${owner[*]} explain ${roles[-1]} shows the progress"
}
