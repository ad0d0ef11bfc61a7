# Starts a cluster of several nodes on this machine. Their state directories are the folders 1, 2, 3 … of one base, in which the file "cluster" marks it and
# holds the address of the first node.
# shellcheck shell=bash

LOCAL_MAIN=dev.polis.ctl.local.LocalMain

# requires_number_of_nodes NUMBER: refuses a number of nodes that makes no useful cluster.
requires_number_of_nodes() {
  case "$1" in
    1 | 3 | 5) ;;
    2 | 4) usage "--nodes $1: an even number of voters bears no more losses than one voter fewer: $1 of them need $(($1 / 2 + 1)), so only $((($1 - 1) / 2)) may fail; give 1, 3 or 5" ;;
    *) usage "--nodes \"$1\": give 1, 3 or 5; every voter writes each record, so more of them only make a cluster slower" ;;
  esac
}

# requires_no_cluster STATE: refuses the base of a cluster as the state directory of one node.
requires_no_cluster() {
  [[ ! -f "$1/cluster" ]] ||
    refuse "$1 holds the nodes of a cluster: $(node_folders "$1" | paste -sd ' ')" \
      "start all of them: $0 up --nodes $(node_folders "$1" | wc -l) --state $(printf '%q' "$1"); or one of them: --state $(printf '%q' "$1")/1; or name another --state"
}

# node_folders BASE: prints the state directories of the cluster's nodes, the first one first.
node_folders() {
  local number
  for ((number = 1; number <= 5; number++)); do
    [[ ! -d "$1/$number" ]] || printf '%s\n' "$1/$number"
  done
}

# states_of STATE: fills the array "states" of the caller with the options of a stop: those of one node, or of all nodes of a cluster, the last one first.
states_of() {
  local folder
  states=()
  if [[ -f "$1/cluster" ]]; then
    while read -r folder; do
      states=(--state "$folder" "${states[@]}")
    done < <(node_folders "$1")
  fi
  [[ ${#states[@]} -gt 0 ]] || states=(--state "$1")
}

# The address of the first node if each has a network namespace of its own, and of the machine on their bridge, in the same network of 256 addresses.
NETNS_ADDRESS=10.83.84.1 NETNS_MACHINE=254

# TCP gives a silent peer up after so many repetitions, as on a machine whose network is the node's: etcd's streams continue soon after a cut.
NETNS_REPETITIONS=5

# netns_up NODES BASE ADDRESS: makes what is missing of a bridge on this machine and of a network namespace for each node, which "ip netns exec" joins with a
# mount namespace. BASE/netns holds their name. Their processes keep the machine's process ids, by which down and health find them. Prints the address of the
# first node.
netns_up() {
  local nodes="$1" base="$2" first="${3:-$NETNS_ADDRESS}" name network number said
  [[ "$(id -u)" == 0 ]] || refuse "--netns makes network namespaces, which needs root, and this is the user $(id -un)" "run it as root, or leave it out: the nodes share the network of this machine"
  [[ -f "$base/netns" || ! -s "$base/cluster" ]] ||
    refuse "the nodes in $base are in the network of this machine, from $(<"$base/cluster") on" "leave --netns out, or name another --state"
  [[ -n "${3:-}" || ! -s "$base/cluster" ]] || first="$(<"$base/cluster")"
  [[ "$first" =~ ^([0-9]{1,3}\.){3}[1-9][0-9]{0,2}$ && "$first" != 127.* ]] ||
    usage "--address $first: with --netns the nodes need IPv4 addresses that no other interface has, such as $NETNS_ADDRESS"
  # Another address than before is refused by the call that starts the nodes.
  [[ ! -s "$base/cluster" || "$first" == "$(<"$base/cluster")" ]] || { printf '%s\n' "$first" && return; }
  network="${first%.*}" number="${first##*.}"
  ((number + nodes - 1 < NETNS_MACHINE)) ||
    usage "--address $first: $nodes nodes need so many addresses from it on, below $network.$NETNS_MACHINE, which is this machine's"
  [[ -f "$base/netns" ]] || name="polis$(sha256sum <<<"$base" | cut -c 1-6)"
  [[ ! -f "$base/netns" ]] || name="$(netns_name "$base")"
  if ! ip link show "$name" >/dev/null 2>&1; then
    said="$(ip -o -4 address show to "$network.0/24")"
    [[ -z "$said" ]] ||
      refuse "an interface of this machine has an address of the network $network.0/24 already: $(awk '{ print $2, $4; exit }' <<<"$said")" "name another network: --address 10.83.85.1, for example"
    said="$(netns_bridge "$name" "$network" 2>&1)" || {
      ip link delete "$name" 2>/dev/null
      refuse "the bridge $name cannot be made: $said" "leave --netns out if this machine allows no bridges"
    }
  fi
  for ((number = 1; number <= nodes; number++)); do
    [[ ! -e "/run/netns/$name-$number" ]] || continue
    netns_remove "$name-$number"
    said="$(netns_node "$name" "$number" "$network" "$network.$((${first##*.} + number - 1))" 2>&1)" || {
      netns_remove "$name-$number"
      refuse "the network namespace of node $number cannot be made: $said" "leave --netns out if this machine allows no network namespaces"
    }
    said="$(ip netns exec "$name-$number" bash -c "echo $NETNS_REPETITIONS >/proc/sys/net/ipv4/tcp_retries2" 2>&1)" ||
      say "node $number needs longer to return after a cut of its network, because TCP cannot be told when to give up: $said"
  done
  [[ -f "$base/netns" ]] || { printf '%s\n' "$name" >"$base/netns.new" && mv "$base/netns.new" "$base/netns"; }
  printf '%s\n' "$first"
}

# netns_bridge NAME NETWORK
netns_bridge() {
  ip link add name "$1" type bridge && ip address add "$2.$NETNS_MACHINE/24" dev "$1" && ip link set "$1" up
}

# netns_node NAME NUMBER NETWORK ADDRESS: makes the namespace of a node and its cable to the bridge.
netns_node() {
  local name="$1" own="$1-$2"
  ip netns add "$own" &&
    ip link add name "$own" type veth peer name eth0 netns "$own" &&
    ip link set "$own" master "$name" up &&
    ip -netns "$own" link set lo up &&
    ip -netns "$own" address add "$4/24" dev eth0 &&
    ip -netns "$own" link set eth0 up &&
    ip -netns "$own" route add default via "$3.$NETNS_MACHINE"
}

# netns_remove NAME: removes the link of this name, a cable or the bridge, and a namespace of the same name. The kernel alone would remove the cable of a
# namespace some time after the last process in it, and a cable of this name is refused until then.
netns_remove() {
  # The kernel may remove it at the same moment.
  ip link delete "$1" 2>/dev/null || ! ip link show "$1" >/dev/null 2>&1
  [[ ! -e "/run/netns/$1" ]] || ip netns delete "$1"
}

# netns_name BASE: prints the name that the bridge and the namespaces of a cluster begin with.
netns_name() {
  local name
  name="$(<"$1/netns")"
  [[ "$name" =~ ^polis[0-9a-f]{6}$ ]] || refuse "$1/netns holds no name of a network: $name" "write polis and six digits of hexadecimal into it, as ip netns list shows them"
  printf '%s\n' "$name"
}

# place_in_cluster STATE FILE: fills "base" and "number" of the caller; fails if STATE is no state directory of a node whose cluster has this file.
place_in_cluster() {
  base="$(dirname "$1")" number="$(basename "$1")"
  [[ -s "$base/$2" && "$number" =~ ^[1-5]$ ]]
}

# netns_of STATE: fills the array "within" of the caller with the command that starts a program in the namespaces of this node, if it has such.
netns_of() {
  local base number name
  within=()
  place_in_cluster "$1" netns || return 0
  name="$(netns_name "$base")-$number"
  [[ -e "/run/netns/$name" ]] ||
    refuse "the network namespace $name of this node is gone" "make it, and start all nodes: $0 up --nodes $(node_folders "$base" | wc -l) --state $(printf '%q' "$base")"
  within=(ip netns exec "$name")
}

# netns_enter ARGUMENT...: runs "ctl" with these arguments in the namespaces of the node whose state directory they name, if it has such: before a node is a
# member, it answers only there.
netns_enter() {
  local at state="" base number name
  for ((at = 1; at <= $#; at++)); do
    case "${!at}" in
      --state) at=$((at + 1)) && state="${!at:-}" ;;
      --state=*) state="${!at#*=}" ;;
    esac
  done
  [[ -z "${POLIS_NETNS:-}" && "$(id -u)" == 0 ]] && place_in_cluster "$state" netns || return 0
  name="$(netns_name "$base")-$number"
  [[ ! -e "/run/netns/$name" ]] || POLIS_NETNS="$name" exec ip netns exec "$name" "$0" ctl "$@"
}

# netns_down BASE: removes the namespaces and the bridge of a cluster whose nodes have ended. The next start makes them again.
netns_down() {
  local name number
  [[ -f "$1/netns" ]] || return 0
  name="$(netns_name "$1")"
  for ((number = 1; number <= 5; number++)); do
    netns_remove "$name-$number"
  done
  netns_remove "$name"
}

# node_address STATE: prints the address of a node of a cluster on this machine, by the address of the first one; of another node that of its last run, if
# it has had one.
node_address() {
  local first base number
  if ! place_in_cluster "$1" cluster; then
    cat "$1/address" 2>/dev/null || true
    return
  fi
  first="$(<"$base/cluster")"
  printf '%s.%s\n' "${first%.*}" $((${first##*.} + number - 1))
}

# cluster_up NODES BASE ADDRESS ETCD SECURITY RECOVERY_KEY NETNS OPTION...: starts what is down of a cluster, and makes each node a voter. ETCD, ADDRESS,
# RECOVERY_KEY and NETNS may be empty.
cluster_up() {
  local nodes="$1" base="$2" address="$3" etcd_named="$4" security="$5" recovery_key="$6" netns="$7" java etcd code=0
  local -a programs
  shift 7
  [[ ! -e "$base/node.lock" && ! -d "$base/esp" ]] ||
    refuse "$base is the state directory of one node, which becomes no part of a cluster by this command" \
      "name another folder for the cluster: $0 up --nodes $nodes --state DIR"
  requires_descriptors
  requires_addresses
  java="$(java_home)"
  requires_java_options "$java"
  etcd="$(etcd_folder "$POLIS_CACHE" "$etcd_named")"
  mapfile -t programs < <(storage_programs "$base/1" "$security")
  [[ -z "$netns" && ! -f "$base/netns" ]] || netns=yes programs+=(ip)
  provide_programs "$POLIS_CACHE" "${programs[@]}"
  build_if_stale "$java"
  requires_writable "$base"
  base="$(cd "$base" && pwd)"
  if [[ -n "$netns" ]]; then
    address="$(netns_up "$nodes" "$base" "$address")" || exit
  fi
  local -a command=("$java/bin/java" "${JVM_OPTIONS[@]}" "${CTL_OPTIONS[@]}")
  [[ ! -f "$(aot_cache "$java").ctl" ]] || command+=("-XX:AOTCache=$(aot_cache "$java").ctl")
  command+=(-cp "$(ctl_class_path)" "$LOCAL_MAIN" --nodes "$nodes" --base "$base" --polis "$0" --etcd "$etcd")
  [[ -z "$address" ]] || command+=(--address "$address")
  [[ -z "$recovery_key" ]] || command+=(--recovery-key "$(realpath -m "$recovery_key")")
  [[ "$base" != "$(realpath -m "$DEFAULT_STATE")" ]] || command+=(--default-base)
  # The nodes are started without a build and a training of their own; the training of this build follows when they are HOME.
  JAVA_HOME="$java" POLIS_BUILD=no POLIS_COMMAND="$0 ctl" "${command[@]}" -- "$@" || code=$?
  if [[ $code == 0 ]]; then
    setsid "$0" train "$etcd" </dev/null >/dev/null 2>&1 &
  fi
  return "$code"
}
