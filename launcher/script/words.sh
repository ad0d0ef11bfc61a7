# How the scripts speak: progress and refusals go to standard error, results to standard output.
# shellcheck shell=bash

say() {
  printf 'polis: %s\n' "$*" >&2
}

# refuse WHAT [NEXT]: says what is wrong and what to do next, and ends with 3, "refused".
refuse() {
  say "$1"
  [[ $# -lt 2 ]] || say "next: $2"
  exit 3
}

# usage WHAT: the command line itself is wrong; ends with 2.
usage() {
  say "$1"
  say "see: ./polis help"
  exit 2
}

# needs_value OPTION REMAINING: an option that takes a value was given one.
needs_value() {
  [[ $2 -ge 2 ]] || usage "option $1 needs a value"
}

# version_at_least HAVE WANTED
version_at_least() {
  [[ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" == "$2" ]]
}
