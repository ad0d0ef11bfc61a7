# Runs Maven with its output in a file, and shows its progress.
# shellcheck shell=bash

# Without a terminal, the script prints a line at least every so many seconds.
SIGN_OF_LIFE=60

# provide_maven: adds Maven to the PATH if the machine has none: the release that the wrapper's properties name, which it unpacks to the cache once. It is
# useless in a subshell. It does not unpack Debian's package: its libraries are links into folders of other packages.
provide_maven() {
  local made url digest version properties="$POLIS_REPOSITORY/.mvn/wrapper/maven-wrapper.properties"
  ! has_program mvn || return 0
  url="$(sed -n 's/^distributionUrl=//p' "$properties")"
  digest="$(sed -n 's/^distributionSha256Sum=//p' "$properties")"
  version="${url%/*}" version="${version##*/}"
  made="$POLIS_CACHE/apache-maven-$version"
  if [[ ! -x "$made/bin/mvn" ]]; then
    # The wrapper's own name for a mirror of Maven Central.
    [[ -z "${MVNW_REPOURL:-}" ]] || url="${MVNW_REPOURL%/}/org/apache/maven/${url#*/org/apache/maven/}"
    mkdir -p "$POLIS_CACHE"
    { flock 9 && maven_fetch "$made" "$url" "$digest"; } 9>"$POLIS_CACHE/maven.lock"
  fi
  PATH="$PATH:$made/bin"
  export PATH
}

# maven_fetch FOLDER URL SHA256: unpacks Maven, unless another call has done it meanwhile.
maven_fetch() {
  local made="$1" url="$2" digest="$3" archive="$1.tar.gz" FETCH_FOR=maven FETCH_ELSEWHERE="install the package maven" FETCH_PROTOCOLS==https,http
  [[ ! -x "$made/bin/mvn" ]] || return 0
  say "fetching Maven ${made##*-} from $url"
  need_curl
  need_certificates >/dev/null
  fetch_verified "$url" "$archive" sha256 "$digest"
  # Older files come from a call that was killed or refused.
  rm -rf "$made.new" && mkdir "$made.new" || exit
  unpack "$POLIS_CACHE" "$archive" "$made.new" --gzip --strip-components=1
  [[ -x "$made.new/bin/mvn" ]] || refuse "maven: $url has no bin/mvn" "$FETCH_ELSEWHERE"
  mv "$made.new" "$made" && rm -f "$archive" || exit
}

# maven JAVA_HOME ACTION LOG ARGUMENT...: succeeds if Maven does. The screen shows ACTION with each module.
maven() {
  local java="$1" what="$2" log="$3"
  shift 3
  provide_maven
  # All run in the foreground, so that Ctrl-C also ends Maven and its children.
  maven_signs "$java" "$log" "$@" | follow_maven "$what"
}

# A Maven of a minute spends more on the second compiler than it gains: a build of all modules takes 49 s instead of 59 without it.
MAVEN_QUICK='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'

# maven_signs JAVA_HOME LOG ARGUMENT...: runs Maven and prints its lines about progress.
maven_signs() {
  local java="$1" log="$2"
  shift 2
  (cd "$POLIS_REPOSITORY" && JAVA_HOME="$java" MAVEN_OPTS="$MAVEN_QUICK ${MAVEN_OPTS:-}" mvn --batch-mode -Dstyle.color=never "$@" 2>&1 </dev/null) |
    tee "$log" |
    { grep --line-buffered -E '^\[[A-Z]+\] (Building [^ :]+ [0-9]|Running |Tests run:.*Time elapsed|Downloading )' || true; }
}

# maven_lanes JAVA_HOME ACTION LOG LANES GROUPS EXCLUDED ARGUMENT...: tests groups in some lanes at the same time; a lane that has ended one takes the next.
# Adds their logs to LOG. Succeeds if all do.
maven_lanes() {
  local java="$1" what="$2" log="$3" lanes="$4" queue="$3.queue" beside=yes code=0
  tr ' ' '\n' <<<"$5" >"$queue"
  shift 5
  { maven_lane "$lanes" "$queue" "$java" "$log" "$@"; } 3>&1 | follow_maven "$what" || code=$?
  cat "$log".[0-9]* >>"$log"
  rm -f "$log".[0-9]* "$queue" "$queue.lock"
  return "$code"
}

# maven_lane NUMBER QUEUE JAVA_HOME LOG EXCLUDED ARGUMENT...: runs a lane and those of lower numbers. As parts of a pipe they run in the foreground: a
# background process of a script does not get Ctrl-C.
maven_lane() {
  local number="$1"
  shift
  if [[ "$number" -gt 1 ]]; then
    maven_queue "$number" "$@" >&3 | maven_lane $((number - 1)) "$@"
  else
    maven_queue "$number" "$@" >&3
  fi
}

# maven_queue NUMBER QUEUE JAVA_HOME LOG EXCLUDED ARGUMENT...: tests the groups that it gets from the queue.
maven_queue() {
  local number="$1" queue="$2" java="$3" log="$4" group code=0 count=0
  shift 4
  while group="$(next_line "$queue")" && [[ -n "$group" ]]; do
    maven_group "$java" "$log.$number.$((count++))" "$group" "$@" || code=$?
  done
  return "$code"
}

# next_line FILE: takes the first line out of a file, and prints it.
next_line() {
  (flock 9 && head -1 "$1" && sed -i 1d "$1") 9>"$1.lock"
}

# maven_group JAVA_HOME LOG GROUP EXCLUDED ARGUMENT...: runs the tests of a group without those of excluded tags. A group MODULES@TAG has the modules' tests
# with the tag, one process after the other; a group MODULES has all others; a group ~MODULES runs at a lower priority.
maven_group() (
  java="$1" log="$2" modules="${3#\~}" excluded="$4" tag="${3#*@}"
  if [[ "$modules" == *@* ]]; then
    chosen=("-Dgroups=$tag" "-DexcludedGroups=$excluded" -Dpolis.forks=1 "-Dpolis.reports=$tag-reports")
  else
    chosen=("-DexcludedGroups=$excluded | alone | beside")
  fi
  # Under load such a process gets two fifths of the time that another one gets.
  [[ "$3" != \~* ]] || renice -n $(($(nice) + 4)) "$BASHPID" >/dev/null || true
  shift 4
  maven_signs "$java" "$log" -pl "${modules%@*}" "${chosen[@]}" "$@"
)

# follow_maven ACTION: turns Maven's lines into the moving line, or into a line for each module if there is no terminal.
follow_maven() {
  local what="$1" line="" part status module="" detail="" started=$SECONDS shown=-1 spoken=$SECONDS passed=0 failed=0 moving=""
  ! moves || moving=yes
  while true; do
    status=0
    IFS= read -r -t 1 part || status=$?
    line+="$part"
    if [[ $status == 0 ]]; then
      maven_line "$line"
      line=""
    elif [[ $status -le 128 ]]; then
      break # The end; a timeout has a higher status.
    fi
    if [[ -n "$moving" && $shown != "$SECONDS" ]]; then
      shown=$SECONDS
      progress "polis: $(maven_state)"
    elif [[ -z "$moving" && $((SECONDS - spoken)) -ge $SIGN_OF_LIFE ]]; then
      maven_say "$(maven_state)"
    fi
  done
  progress_end
}

# maven_line LINE: updates the variables of follow_maven from a line.
maven_line() {
  local result='Tests run: ([0-9]+), Failures: ([0-9]+), Errors: ([0-9]+), Skipped: ([0-9]+).* in (.*)$' bad
  case "$1" in
    *"] Building "*)
      # "[INFO] Building dev.polis.base 0.1.0   [7/33]"; without the end if Maven builds one module alone.
      read -r _ _ module part <<<"$1"
      [[ -n "${beside:-}" || ! "$part" =~ \[([0-9]+)/([0-9]+)\]$ ]] || module="${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}: $module"
      detail=""
      [[ -n "$moving" ]] || maven_say "$what $module ($(duration $((SECONDS - started))))"
      ;;
    # If several modules run at once, the name of the class identifies the module.
    *"] Running "*) [[ -n "${beside:-}" ]] && module="${1##* }" || detail=", ${1##*.}" ;;
    *"] Downloading "*) detail=", fetching ${1##*/}" ;;
    *)
      [[ "$1" =~ $result ]] || return 0
      bad=$((BASH_REMATCH[2] + BASH_REMATCH[3]))
      failed=$((failed + bad))
      passed=$((passed + BASH_REMATCH[1] - bad - BASH_REMATCH[4]))
      [[ $bad == 0 ]] || maven_say "FAILED: $bad of ${BASH_REMATCH[1]} tests in ${BASH_REMATCH[5]}"
      ;;
  esac
}

# maven_state: prints the action, its progress and its time.
maven_state() {
  local tests=""
  [[ $((passed + failed)) == 0 ]] || tests="; $passed passed, $failed failed"
  printf '%s %s%s%s (%s)\n' "$what" "${module:-...}" "$detail" "$tests" "$(duration $((SECONDS - started)))"
}

# maven_say TEXT: prints a line that stays.
maven_say() {
  progress_end
  say "$1"
  spoken=$SECONDS
}

# maven_errors LOG: prints why Maven failed, without its advice on stack traces.
maven_errors() {
  grep -m 30 -E '^\[ERROR\] .' "$1" | grep -vE 'stack trace of the errors|full debug logging|Help [0-9]+\]|After correcting the problems|mvn <args>' | cut -c 1-400
}
