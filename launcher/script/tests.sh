# Runs the tests and reports the result.
# shellcheck shell=bash

# chosen_modules ARGUMENT...: prints the modules that a Maven command line names with -pl.
chosen_modules() {
  while [[ $# -gt 0 ]]; do
    case "$1" in
      -pl | --projects) printf '%s\n' "${2:-}"; return ;;
      -pl=* | --projects=*) printf '%s\n' "${1#*=}"; return ;;
    esac
    shift
  done
}

# names_failure_mode ARGUMENT...: succeeds if a Maven command line has an option for failures.
names_failure_mode() {
  [[ " $* " =~ \ (-ff|-fae|-fn|--fail-fast|--fail-at-end|--fail-never)\  ]]
}

# Per tier: the excluded tags, the longest time of one test, and of all tests of one process, in seconds. A test that takes longer fails with
# the stacks of all threads, and the next one runs; Maven ends a process that takes longer.
declare -A TIER_WITHOUT=([quick]='full | long' [full]='long' [long]='')
declare -A TIER_TEST_LIMIT=([quick]='5 m' [full]='20 m' [long]='6 h')
declare -A TIER_PROCESS_LIMIT=([quick]=1500 [full]=3600 [long]=28800)

# format_of_changes: prints the option with which a build checks the format of changed files alone, as all others were checked before: a quarter of a build's
# time. Without git it prints nothing, and a build checks all.
format_of_changes() {
  ! git -C "$POLIS_REPOSITORY" rev-parse --verify --quiet HEAD >/dev/null 2>&1 || printf '%s\n' -DratchetFrom=HEAD
}

# run_tests JAVA_HOME TIER KUBERNETES ARGUMENT...: runs all tests of a tier, or those that Maven's arguments select. KUBERNETES is yes, missing or without.
# Prints the result; fails if a test failed or did not run.
run_tests() {
  local java="$1" tier="$2" kubernetes="$3" log="$POLIS_CACHE/test.log" modules code=0
  local -a mode=() of_tier report=()
  shift 3
  # After a failure, Maven still tests the modules that do not need the failed one.
  names_failure_mode "$@" || mode=(--fail-at-end)
  of_tier=("-Dpolis.tier=$tier" "-Dpolis.test.limit=${TIER_TEST_LIMIT[$tier]}" "-Dsurefire.timeout=${TIER_PROCESS_LIMIT[$tier]}")
  touch "$POLIS_CACHE/tests-began"
  modules="$(chosen_modules "$@")"
  if [[ -n "$modules" ]]; then
    # A named test runs, whatever its tier is.
    if [[ " $* " == *" -Dtest="* && "$tier" == quick ]]; then
      of_tier+=("-DexcludedGroups=${TIER_WITHOUT[full]}")
    else
      of_tier+=("-DexcludedGroups=${TIER_WITHOUT[$tier]}")
    fi
    [[ "$tier" != long ]] || of_tier+=("-Dgroups=longer | long")
    # A single module finds its dependencies only in Maven's repository.
    say "building what $modules needs"
    maven "$java" building "$POLIS_CACHE/build.log" -T 1C install -pl "$modules" -am -DskipTests -Dspotless.check.skip=true || {
      maven_errors "$POLIS_CACHE/build.log" >&2
      say "the build failed; Maven's log is $POLIS_CACHE/build.log"
      return 1
    }
    maven "$java" testing "$log" verify "${of_tier[@]}" "${mode[@]}" "$@" || code=$?
  else
    [[ "$tier" != quick ]] || mapfile -t -O "${#of_tier[@]}" of_tier < <(format_of_changes)
    # In a whole run, nodes start as an operator's node does; for one module the training costs more than it saves.
    export POLIS_TEST_AOT=yes
    test_everything "$java" "$log" "$tier" "${of_tier[@]}" "${mode[@]}" "$@" || code=$?
    [[ " $* " == *" -Dtest="* ]] || report=(--whole)
  fi
  report_tests "$java" "$POLIS_CACHE/tests-began" --log "$log" --code "$code" --tier "$tier" --kubernetes "$kubernetes" "${report[@]}" || code=1
  return "$code"
}

# processor_time: prints the processor time of this process and of all children that it waited for.
processor_time() {
  local ticks
  ticks="$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 12-15 --output-delimiter=+)"
  duration $(((ticks) / $(getconf CLK_TCK)))
}

# Lists groups of modules. Each group is tested by a Maven of its own; groups that take long begin first. "others" stands for all modules that no group names.
# Several Mavens are cheaper than several processes of one module, each of which loads and compiles the same classes; so most modules have one process. A group
# with ~ promises no time and runs at a lower priority: as an equal it would load two cores so much that tests with time limits fail.
CLUSTERS='integration-tests/cluster,integration-tests/faults'
TEST_GROUPS="$CLUSTERS"' others ~launcher/ctl ~integration-tests/container platform/plugins platform/rpc bundles/curator'
TEST_GROUPS+=' bundles/consensus,platform/etcd bundles/kubernetes ~integration-tests/scripts launcher/node,bundles/storage integration-tests/benchmarks'
TEST_GROUPS+=' bundles/metrics,bundles/convergence ~platform/pki,platform/wire,tools/baseline,tools/maven-plugin'

# The first group has three processes, so there are six for two cores; some of them wait at any time.
TEST_LANES=4

# A module with few tests. It makes Maven fetch the files of the first tests before the groups begin, which would each write them to the same place.
FIRST_TESTED=platform/base

# tagged TAG...: prints the modules that have a test with one of these tags, joined by commas.
tagged() {
  local IFS='|'
  tagged_files "$*" | sed 's:/src/test/.*::' | LC_ALL=C sort -u | paste -sd ,
}

# tagged_files PATTERN: prints the sources of tests with a tag that the pattern matches.
tagged_files() {
  (cd "$POLIS_REPOSITORY" && grep -rlE --include='*.java' "@Tag\\(\"($1)\"\\)" platform bundles launcher integration-tests tools 2>/dev/null | grep /src/test/) || true
}

# build_for_tests JAVA_HOME LOG REPOSITORY ARGUMENT...: builds all modules. Fails with 9 if Maven does not report its repository.
build_for_tests() {
  local java="$1" log="$2" repository="$3"
  shift 3
  maven "$java" building "$log" -T 1C verify -DskipTests "$@" || return 1
  repository_of_build "$java" "$repository" "$@" || return 9
}

# test_everything JAVA_HOME LOG TIER ARGUMENT...: builds all modules and tests the groups in lanes. Then it tests, one by one, what needs the machine alone. In
# one Maven, each module's tests would wait for the tests of its dependencies.
test_everything() {
  local java="$1" log="$2" tier="$3" repository="$POLIS_CACHE/repository" groups="$TEST_GROUPS" without alone group others="!$FIRST_TESTED" code=0
  shift 3
  without="${TIER_WITHOUT[$tier]}"
  build_for_tests "$java" "$log" "$repository" "$@" || code=$?
  if [[ $code == 9 ]]; then
    code=0
    say "Maven does not report its repository: testing one module after the other"
    maven "$java" testing "$log" verify "-DexcludedGroups=$without" "$@" || code=$?
    return "$code"
  fi
  [[ $code == 0 ]] || return "$code"
  rm -f "$log".[0-9]*
  # After a failed test Maven would not test the modules that need the failed one. The report lists the failures, and the classes that did not run.
  local -a ignoring=("-Dmaven.repo.local=$repository" -Dmaven.test.failure.ignore=true)
  # A whole run of some thousand tests on a busy machine is not worthless for one that fails once: it runs again, and the report names it.
  ignoring+=(-Dsurefire.rerunFailingTestsCount=1)
  local -a once=("$without" "${ignoring[@]}" surefire:test "$@")
  maven_group "$java" "$log.00" "$FIRST_TESTED" "${once[@]}" | follow_maven testing || code=$?
  for group in ${TEST_GROUPS//[~,]/ }; do
    [[ "$group" == others ]] || others+=",!$group"
  done
  groups="${groups/ others / $others }"
  if [[ "$tier" == full ]]; then
    # Only this tier has a virtual machine, which needs a processor of its own. Beside clusters the limits of its node pass, and with a higher priority those
    # of the clusters; so these come after it.
    maven_lanes "$java" "testing beside a machine:" "$log" 3 "integration-tests/cluster@beside ${groups#"$CLUSTERS" }" "${once[@]}" || code=$?
    groups="$CLUSTERS"
  fi
  maven_lanes "$java" testing "$log" "$TEST_LANES" "$groups" "${once[@]}" || code=$?
  alone="$(tagged alone)"
  if [[ -n "$alone" ]]; then
    maven_group "$java" "$log.99" "$alone@alone" "${once[@]}" | follow_maven "testing alone" || code=$?
    cat "$log.99" >>"$log" && rm -f "$log.99"
  fi
  return "$code"
}

# Long tests that mostly wait for the clocks and Pods of Kubernetes. They run beside the others.
LONG_WAITING='/(Conformance|Kubernetes|Rotation)'

# run_long JAVA_HOME KUBERNETES ARGUMENT...: runs the long forms in two streams, each class after the other; finally, one by one, those that need the machine
# alone. A call after an interrupted run skips the classes that have passed, if no source has changed. At the end .polis/long/report.md has a report of all
# figures.
run_long() {
  local java="$1" kubernetes="$2" folder="$POLIS_CACHE/long" repository="$POLIS_CACHE/repository" sources file class code=0
  local -a waiting=() computing=() alone=() of_tier
  shift 2
  export POLIS_TEST_AOT=yes
  mkdir -p "$folder"
  sources="$(build_fingerprint tests)"
  if [[ "$(cat "$folder/sources" 2>/dev/null)" != "$sources" ]]; then
    rm -f "$folder"/*
    build_for_tests "$java" "$folder/build.log" "$repository" "$@" || {
      maven_errors "$folder/build.log" >&2
      say "the build failed; Maven's log is $folder/build.log"
      return 1
    }
    touch "$folder/began" "$folder/passed"
    printf '%s\n' "$sources" >"$folder/sources"
  fi
  of_tier=("-Dmaven.repo.local=$repository" "-Dpolis.tier=long" "-Dpolis.test.limit=${TIER_TEST_LIMIT[long]}" "-Dsurefire.timeout=${TIER_PROCESS_LIMIT[long]}"
    "-Dgroups=longer | long" -DexcludedGroups= -Dpolis.forks=1 -Dpolis.reports=long-reports)
  while read -r file; do
    class="$(basename "$file" .java)"
    if grep -qxF "$class" "$folder/passed"; then
      say "$class has passed before"
    elif grep -qE '@Tag\("(alone|beside)"\)' "$POLIS_REPOSITORY/$file"; then
      alone+=("$file")
    elif [[ "$file" =~ $LONG_WAITING ]]; then
      waiting+=("$file")
    else
      computing+=("$file")
    fi
  done < <(tagged_files 'longer|long' | LC_ALL=C sort)
  long_streams "$java" "$folder" "${of_tier[@]}" "$@" || code=1
  long_stream "$java" "$folder" alone "${of_tier[@]}" "$@" | follow_maven "testing alone" || code=1
  cat "$folder"/*Test.log "$folder"/*IT.log >"$folder/test.log" 2>/dev/null || true
  report_tests "$java" "$folder/began" --log "$folder/test.log" --code "$code" --tier long --kubernetes "$kubernetes" --whole --markdown "$folder/report.md" || code=1
  say "the report is $folder/report.md"
  return "$code"
}

# long_streams JAVA_HOME FOLDER ARGUMENT...: runs the two streams at the same time, as parts of a pipe, for the reason that maven_stream gives.
long_streams() {
  local java="$1" folder="$2" beside=yes
  shift 2
  { long_stream "$java" "$folder" waiting "$@" >&3 | long_stream "$java" "$folder" computing "$@" >&3; } 3>&1 | follow_maven testing
}

# long_stream JAVA_HOME FOLDER LIST ARGUMENT...: runs the classes of an array of sources one after the other. Prints Maven's lines about progress. Fails if one
# fails.
long_stream() {
  local java="$1" folder="$2" file class code=0
  local -n list="$3"
  shift 3
  for file in "${list[@]}"; do
    class="$(basename "$file" .java)"
    if maven_signs "$java" "$folder/$class.log" -pl "${file%%/src/test/*}" surefire:test "-Dtest=$class" "$@"; then
      printf '%s\n' "$class" >>"$folder/passed"
    else
      code=1
    fi
  done
  return "$code"
}

# repository_of_build JAVA_HOME FOLDER ARGUMENT...: fails if Maven does not report its repository, else fills a Maven repository with the results of this
# build, and with links to all that Maven has fetched. So this checkout uses no other checkout's build of the same version, and no other checkout uses this one.
repository_of_build() {
  local java="$1" to="$2" fetched entry version pom artifact folder jar
  shift 2
  fetched="$(cd "$POLIS_REPOSITORY" && JAVA_HOME="$java" mvn --batch-mode -Dstyle.color=never -X -N validate "$@" 2>&1 </dev/null |
    sed -n 's/.*Using local repository at //p')"
  [[ -d "$fetched" ]] || return
  rm -rf "$to"
  mkdir -p "$to/dev"
  for entry in "$fetched"/* "$fetched"/dev/*; do
    [[ ! -e "$entry" || "$entry" == "$fetched"/dev || "$entry" == "$fetched"/dev/polis ]] || ln -s "$entry" "$to${entry#"$fetched"}"
  done
  version="$(pom_value version "$POLIS_REPOSITORY/pom.xml")"
  while read -r folder; do
    pom="$POLIS_REPOSITORY/$folder/pom.xml"
    artifact="$(pom_value artifactId "$pom")"
    mkdir -p "$to/dev/polis/$artifact/$version"
    cp "$pom" "$to/dev/polis/$artifact/$version/$artifact-$version.pom"
    for jar in "$POLIS_REPOSITORY/$folder/target/$artifact-$version"*.jar; do
      [[ ! -f "$jar" ]] || cp -p "$jar" "$to/dev/polis/$artifact/$version/"
    done
  done < <(printf '.\n' && sed -n 's:.*<module>\(.*\)</module>.*:\1:p' "$POLIS_REPOSITORY/pom.xml")
}

# pom_value ELEMENT POM: prints the first such value that is not the parent's.
pom_value() {
  sed '/<parent>/,/<\/parent>/d' "$2" | sed -n "s:^ *<$1>\(.*\)</$1>\$:\1:p" | head -1
}

# report_tests JAVA_HOME BEGAN OPTION...: prints the result; reports older than the file BEGAN belong to another run.
report_tests() {
  local java="$1" began="$2"
  shift 2
  [[ " $* " != *" --whole "* ]] || say "the run took $(duration "$SECONDS"), with $(processor_time) of processor time"
  find "$POLIS_REPOSITORY" -name .polis -prune -o -path '*/target/*-reports/TEST-*.xml' -newer "$began" -print |
    LC_ALL=C sort |
    "$java/bin/java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dstdout.encoding=UTF-8 "$POLIS_REPOSITORY/launcher/script/TestReport.java" \
      --repository "$POLIS_REPOSITORY" "$@"
}
