# Runs the tests and says what came of them.
# shellcheck shell=bash

# chosen_modules ARGUMENT...: prints the modules that a Maven command line names, as they stand behind -pl.
chosen_modules() {
  while [[ $# -gt 0 ]]; do
    case "$1" in
      -pl | --projects) printf '%s\n' "${2:-}"; return ;;
      -pl=* | --projects=*) printf '%s\n' "${1#*=}"; return ;;
    esac
    shift
  done
}

# names_failure_mode ARGUMENT...: a Maven command line says itself what happens after a failure.
names_failure_mode() {
  [[ " $* " =~ \ (-ff|-fae|-fn|--fail-fast|--fail-at-end|--fail-never)\  ]]
}

# run_tests JAVA_HOME ARGUMENT...: all tests, or those that Maven's arguments choose. Prints the result; fails if it is not good.
run_tests() {
  local java="$1" log="$POLIS_CACHE/test.log" modules code=0
  local -a mode=()
  shift
  # One failure does not hide those of the modules that do not need the failed one.
  names_failure_mode "$@" || mode=(--fail-at-end)
  touch "$POLIS_CACHE/tests-began"
  modules="$(chosen_modules "$@")"
  if [[ -n "$modules" ]]; then
    # A module by itself finds those it needs only where Maven installs them.
    say "building what $modules needs"
    maven "$java" building "$POLIS_CACHE/build.log" -T 1C install -pl "$modules" -am -DskipTests -Dspotless.check.skip=true || {
      maven_errors "$POLIS_CACHE/build.log" >&2
      say "the build failed; Maven's log is $POLIS_CACHE/build.log"
      return 1
    }
    maven "$java" testing "$log" verify "${mode[@]}" "$@" || code=$?
  else
    # Nodes of a whole run, some hundreds, start as an operator's do; for one module the training costs more than it saves.
    export POLIS_TEST_AOT=yes
    test_everything "$java" "$log" "${mode[@]}" "$@" || code=$?
  fi
  report_tests "$java" "$log" "$code" "$POLIS_CACHE/tests-began"
}

# Modules whose tests run beside those of all others, each line in a Maven of its own: they take longest, and most of it they wait. More than two at once
# keep two cores so busy that tests of what happens in time fail for want of it.
TEST_STREAMS=(
  integration-tests/cluster
)

# A module of few tests. What Maven fetches for the first ones of all is there before the streams begin, which would each write it to the same place.
FIRST_TESTED=platform/backoff

# test_everything JAVA_HOME LOG ARGUMENT...: builds all modules, then runs their tests in streams. In one Maven, each module's tests would wait for
# those of the modules that it is made of.
test_everything() {
  local java="$1" log="$2" repository="$POLIS_CACHE/repository" stream others="!$FIRST_TESTED" code=0
  shift 2
  maven "$java" building "$log" -T 1C verify -DskipTests "$@" || return
  repository_of_build "$java" "$repository" "$@" || {
    say "Maven does not say where its repository is: testing one module after the other"
    maven "$java" testing "$log" verify "$@" || code=$?
    return "$code"
  }
  rm -f "$log".[0-9]*
  maven "$java" testing "$log.00" "-Dmaven.repo.local=$repository" -pl "$FIRST_TESTED" surefire:test "$@" || code=$?
  for stream in "${TEST_STREAMS[@]}"; do
    others+=",!${stream//,/,!}"
  done
  local -a streams=("${TEST_STREAMS[@]}" "$others")
  maven_streams "$java" testing "$log" "-Dmaven.repo.local=$repository" surefire:test "$@" || code=$?
  return "$code"
}

# repository_of_build JAVA_HOME FOLDER ARGUMENT...: fails if Maven does not say where its repository is, else fills a Maven repository with what was just
# built, beside links to all that Maven has fetched. So no other checkout's build of the same version is taken, nor does another one find this.
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

# report_tests JAVA_HOME LOG CODE BEGAN: reports that were written before the file BEGAN belong to another run.
report_tests() {
  find "$POLIS_REPOSITORY" -name .polis -prune -o -path '*/target/*-reports/TEST-*.xml' -newer "$4" -print |
    LC_ALL=C sort |
    "$1/bin/java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dstdout.encoding=UTF-8 "$POLIS_REPOSITORY/launcher/script/TestReport.java" "$2" "$3"
}
