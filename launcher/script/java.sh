# Which Java: one JDK 25, wherever it is, or the words that name what to install.
# shellcheck shell=bash

JAVA_WANTED=25

# java_feature HOME: prints the feature release of the JDK there, or fails.
java_feature() {
  [[ -x "$1/bin/java" && -x "$1/bin/javac" && -r "$1/release" ]] || return 1
  [[ "$(<"$1/release")" =~ (^|$'\n')JAVA_VERSION=\"([0-9]+) ]] && printf '%s\n' "${BASH_REMATCH[2]}"
}

# java_home: prints the home of a JDK 25: JAVA_HOME, then the one in PATH, then the usual folders.
java_home() {
  local candidate
  local -a candidates=("${JAVA_HOME:-}")
  if candidate="$(command -v javac)"; then
    candidates+=("$(dirname "$(dirname "$(readlink -f "$candidate")")")")
  fi
  candidates+=(/usr/lib/jvm/* /opt/* "$HOME"/.sdkman/candidates/java/*)
  for candidate in "${candidates[@]}"; do
    if [[ -n "$candidate" && "$(java_feature "$candidate" || true)" == "$JAVA_WANTED" ]]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  refuse "there is no JDK $JAVA_WANTED: looked at JAVA_HOME, PATH, /usr/lib/jvm, /opt and ~/.sdkman" \
    "install the package openjdk-$JAVA_WANTED-jdk-headless or temurin-$JAVA_WANTED-jdk, or set JAVA_HOME"
}
