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

# cluster_up NODES BASE ADDRESS ETCD SECURITY RECOVERY_KEY OPTION...: starts what is down of a cluster, and makes each node a voter. ETCD, ADDRESS and
# RECOVERY_KEY may be empty.
cluster_up() {
  local nodes="$1" base="$2" address="$3" etcd_named="$4" security="$5" recovery_key="$6" java etcd code=0
  local -a programs
  shift 6
  [[ ! -e "$base/node.lock" && ! -d "$base/esp" ]] ||
    refuse "$base is the state directory of one node, which becomes no part of a cluster by this command" \
      "name another folder for the cluster: $0 up --nodes $nodes --state DIR"
  requires_descriptors
  java="$(java_home)"
  etcd="$(etcd_folder "$POLIS_CACHE" "$etcd_named")"
  mapfile -t programs < <(storage_programs "$base/1" "$security")
  provide_programs "$POLIS_CACHE" "${programs[@]}"
  build_if_stale "$java"
  requires_writable "$base"
  base="$(cd "$base" && pwd)"
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
