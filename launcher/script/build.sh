# Builds the distribution if, and only if, one of its sources has changed.
# shellcheck shell=bash

DISTRIBUTION="$POLIS_REPOSITORY/launcher/dist/target/polis"

# build_fingerprint [tests]: prints a digest that changes with every added, removed or written source; with those of tests only on request.
build_fingerprint() {
  local -a places=(pom.xml .mvn platform bundles launcher) without=(-name target -o -path '*/src/test' -o -path launcher/script)
  [[ "${1:-}" != tests ]] || { places+=(integration-tests examples) && without=(-name target -o -path launcher/script); }
  (cd "$POLIS_REPOSITORY" && find "${places[@]}" \( "${without[@]}" \) -prune -o -type f -printf '%p %T@ %s\n') |
    LC_ALL=C sort | sha256sum | cut -d ' ' -f 1
}

# build_if_stale JAVA_HOME: runs one build at a time; other callers wait for it and use its result. POLIS_BUILD=no uses the present distribution.
build_if_stale() {
  if [[ "${POLIS_BUILD:-}" == no && -f "$DISTRIBUTION/bundles.list" ]]; then
    return 0
  fi
  mkdir -p "$POLIS_CACHE"
  {
    flock 8
    local wanted
    wanted="$(build_fingerprint)"
    if [[ ! -f "$DISTRIBUTION/bundles.list" || "$(cat "$POLIS_CACHE/built" 2>/dev/null)" != "$wanted" ]]; then
      build "$1"
      printf '%s\n' "$wanted" >"$POLIS_CACHE/built"
    fi
  } 8>"$POLIS_CACHE/build.lock"
}

build() {
  say "building (without tests)"
  rm -f "$POLIS_CACHE/built"
  if ! maven "$1" building "$POLIS_CACHE/build.log" -T 1C -pl launcher/dist -am -Dmaven.test.skip=true -Dspotless.check.skip=true package; then
    maven_errors "$POLIS_CACHE/build.log" >&2
    say "the build failed; Maven's log is $POLIS_CACHE/build.log"
    exit 1
  fi
}
