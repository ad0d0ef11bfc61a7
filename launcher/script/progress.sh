# One line that moves while something takes its time: what is under way, how far, how long. Without a terminal, plain lines now and then.
# shellcheck shell=bash

# Width and length of the line that is on the screen, 0 without one.
PROGRESS_LENGTH=0

moves() {
  [[ -t 2 && "${TERM:-dumb}" != dumb ]]
}

# duration SECONDS
duration() {
  if [[ $1 -lt 60 ]]; then
    printf '%d s' "$1"
  else
    printf '%d min %02d s' $(($1 / 60)) $(($1 % 60))
  fi
}

# progress TEXT: puts the text in place of the moving line.
progress() {
  local width
  width="$(stty size <&2 2>/dev/null)" && width="${width#* }" || width=80
  # The last column stays free: a terminal may wrap a line that fills it.
  [[ "$width" -gt 1 ]] || width=80
  printf '\r\e[K%s' "${1:0:width-1}" >&2
  PROGRESS_LENGTH=${#1}
}

# progress_end: takes the moving line away, so that another may be printed.
progress_end() {
  [[ $PROGRESS_LENGTH == 0 ]] || printf '\r\e[K' >&2
  PROGRESS_LENGTH=0
}

# while_waiting TEXT LOG COMMAND...: runs a command whose output goes to a file, and shows meanwhile how long it takes.
while_waiting() {
  local text="$1" log="$2" ticker code=0 began=$SECONDS
  shift 2
  if ! moves; then
    "$@" >"$log" 2>&1
    return
  fi
  (
    while kill -0 "$$" 2>/dev/null; do
      progress "polis: $text ($(duration $((SECONDS - began))))"
      # It may outlive this by a second, and must hold no lock for so long.
      sleep 1 8>&- 9>&-
    done
  ) &
  ticker=$!
  "$@" >"$log" 2>&1 || code=$?
  kill "$ticker" 2>/dev/null
  wait "$ticker" 2>/dev/null
  printf '\r\e[K' >&2
  return "$code"
}
