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
  modules="$(chosen_modules "$@")"
  if [[ -n "$modules" ]]; then
    # A module by itself finds those it needs only where Maven installs them.
    say "building what $modules needs"
    maven "$java" building "$POLIS_CACHE/build.log" install -pl "$modules" -am -DskipTests -Dspotless.check.skip=true || {
      maven_errors "$POLIS_CACHE/build.log" >&2
      say "the build failed; Maven's log is $POLIS_CACHE/build.log"
      return 1
    }
  fi
  # One failure does not hide those of the modules that do not need the failed one.
  names_failure_mode "$@" || mode=(--fail-at-end)
  touch "$POLIS_CACHE/tests-began"
  maven "$java" testing "$log" verify "${mode[@]}" "$@" || code=$?
  report_tests "$java" "$log" "$code" "$POLIS_CACHE/tests-began"
}

# report_tests JAVA_HOME LOG CODE BEGAN: reports that were written before the file BEGAN belong to another run.
report_tests() {
  find "$POLIS_REPOSITORY" -name .polis -prune -o -path '*/target/*-reports/TEST-*.xml' -newer "$4" -print |
    LC_ALL=C sort |
    "$1/bin/java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dstdout.encoding=UTF-8 "$POLIS_REPOSITORY/launcher/script/TestReport.java" "$2" "$3"
}
