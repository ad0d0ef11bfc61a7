# Shows a moving line during a long step: the step, its progress and its time. Without a terminal, it prints plain lines from time to time.
# shellcheck shell=bash

# The length of the line on the screen, 0 without one.
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

# progress TEXT: replaces the moving line by a text.
progress() {
  local width
  width="$(stty size <&2 2>/dev/null)" && width="${width#* }" || width=80
  # The last column stays free: a terminal may wrap a line that fills it.
  [[ "$width" -gt 1 ]] || width=80
  printf '\r\e[K%s' "${1:0:width-1}" >&2
  PROGRESS_LENGTH=${#1}
}

# progress_end: removes the moving line, so that another line can follow.
progress_end() {
  [[ $PROGRESS_LENGTH == 0 ]] || printf '\r\e[K' >&2
  PROGRESS_LENGTH=0
}

# while_waiting TEXT LOG COMMAND...: runs a command with its output in a file, and shows the time meanwhile.
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
      # It may outlive this by a second, and must not hold a lock then.
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
