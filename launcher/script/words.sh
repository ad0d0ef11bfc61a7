# Prints progress and refusals to standard error; results go to standard output.
# shellcheck shell=bash

say() {
  printf 'polis: %s\n' "$*" >&2
}

# refuse PROBLEM [REMEDY]: prints the problem and the remedy, and ends with 3, "refused".
refuse() {
  say "$1"
  [[ $# -lt 2 ]] || say "next: $2"
  exit 3
}

# usage PROBLEM: refuses a wrong command line; ends with 2.
usage() {
  say "$1"
  say "see: ./polis help"
  exit 2
}

# needs_value OPTION REMAINING: checks that an option has a value.
needs_value() {
  [[ $2 -ge 2 ]] || usage "option $1 needs a value"
}

# version_at_least HAVE WANTED
version_at_least() {
  [[ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" == "$2" ]]
}
