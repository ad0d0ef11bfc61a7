# Downloads: resumed where they were cut off, and of use only with the digest that is known before. The caller says in FETCH_FOR for what, and in
# FETCH_ELSEWHERE what else a person can do.
# shellcheck shell=bash

# A download that brings fewer bytes each second, for so long, is broken off and resumed.
FETCH_SLOWEST=10000
FETCH_SLOW_SECONDS=30
# How often a download that gets no further is tried, with a pause in seconds between.
FETCH_TRIES=5
FETCH_PAUSE=2
# What counts as getting further, in bytes: a server that gives a little each time would otherwise be asked for ever.
FETCH_PROGRESS=1048576
# How a server may be reached. A download whose digest is in the source may come from anywhere; one whose digest is fetched may not.
FETCH_PROTOCOLS==https

# Where systems keep the authorities that they trust: Debian, Fedora, SUSE.
CERTIFICATES=(/etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem)

# need_curl: provides the program that downloads. Changes the PATH.
need_curl() {
  provide_programs "$POLIS_CACHE" curl
  has_program curl || refuse "$FETCH_FOR: there is no curl to download it with" "install the package curl, or $FETCH_ELSEWHERE"
}

# need_certificates: prints the file of the authorities that this machine trusts. Its package is missing where git was installed without what it recommends.
need_certificates() {
  certificates && return
  provide_programs "$POLIS_CACHE" update-ca-certificates
  certificates || refuse "$FETCH_FOR: this machine trusts no server: there is no ${CERTIFICATES[0]}" "install the package ca-certificates"
}

# certificates: prints the first such file that is there, or fails.
certificates() {
  local file
  for file in "${CERTIFICATES[@]}"; do
    [[ -s "$file" ]] || continue
    printf '%s\n' "$file"
    return
  done
  return 1
}

# fetch_verified URL FILE ALGORITHM DIGEST: downloads a file, which appears under its name only if its digest is right.
fetch_verified() {
  local url="$1" file="$2" algorithm="$3" digest="$4" have before
  if [[ -f "$file" && "$(digest_of "$file" "$algorithm")" == "$digest" ]]; then
    return 0
  fi
  before="$(size_of "$file.part")"
  fetch "$url" "$file.part"
  have="$(digest_of "$file.part" "$algorithm")"
  if [[ "$have" != "$digest" && "$before" != 0 ]]; then
    # What an earlier run has left may be of another file.
    say "$url does not go on from the $before bytes that an earlier download left; starting over"
    rm -f "$file.part"
    fetch "$url" "$file.part"
    have="$(digest_of "$file.part" "$algorithm")"
  fi
  if [[ "$have" != "$digest" ]]; then
    rm -f "$file.part"
    refuse "$FETCH_FOR: $url has the ${algorithm^^} $have, and not $digest: it is damaged or another one; nothing was unpacked" "try again later, or $FETCH_ELSEWHERE"
  fi
  mv "$file.part" "$file" || exit
}

# digest_of FILE ALGORITHM
digest_of() {
  "$2sum" <"$1" | cut -d ' ' -f 1
}

size_of() {
  stat -c %s "$1" 2>/dev/null || echo 0
}

# fetch URL FILE: downloads it all, or refuses. What was cut off is resumed, within this call and by the next one.
fetch() {
  local url="$1" file="$2" log="$2.log" tries=0 code before status
  local give_up="try again: the download goes on where it was cut off; or $FETCH_ELSEWHERE"
  while true; do
    before="$(size_of "$file")"
    code=0
    while_waiting "fetching $url" "$log" curl_once "$url" "$file" || code=$?
    [[ $code != 0 ]] || break
    status="$(tail -n 1 "$log")"
    if [[ $code == 22 && "$status" == 416 && "$before" != 0 && $tries == 0 ]]; then
      break # There is nothing behind what is there: it may be whole, which its digest tells.
    fi
    case $code in
      22) [[ "$status" == 5?? || "$status" == 416 || "$status" == 429 ]] || refuse "$FETCH_FOR: $url is answered with $status" "$FETCH_ELSEWHERE" ;;
      23)
        refuse_full "$(dirname "$file")"
        refuse "$FETCH_FOR: $file cannot be written: $(fetch_words "$log")" "mend the disk, then try again"
        ;;
      35 | 51 | 60 | 77) refuse "$FETCH_FOR: the server of $url is not trusted: $(fetch_words "$log")" "mind the machine's clock and its certificates; or $FETCH_ELSEWHERE" ;;
      1 | 2 | 3) refuse "$FETCH_FOR: $url cannot be fetched: $(fetch_words "$log")" "give a URL that begins with ${FETCH_PROTOCOLS#=}://" ;;
    esac
    # 33: the server does not resume.
    [[ $code != 33 && "$status" != 416 ]] || rm -f "$file"
    # One that is too slow would be asked for hours if what it brings counted.
    if [[ $code != 28 && $(($(size_of "$file") - before)) -ge $FETCH_PROGRESS ]]; then tries=0; fi
    tries=$((tries + 1))
    if [[ $tries -ge $FETCH_TRIES ]]; then
      if [[ $code == 28 && "$(size_of "$file")" != 0 ]]; then
        refuse "$FETCH_FOR: $url brought fewer than $FETCH_SLOWEST bytes a second for $FETCH_SLOW_SECONDS s, $tries times" "$give_up"
      fi
      refuse "$FETCH_FOR: $url could not be fetched in $tries tries, $(size_of "$file") bytes are here: $(fetch_words "$log")" "$give_up"
    fi
    sleep "$FETCH_PAUSE"
  done
  rm -f "$log"
}

# curl_once URL FILE: its last line is the status that the server answered with.
curl_once() {
  curl --proto "$FETCH_PROTOCOLS" --proto-redir "$FETCH_PROTOCOLS" --fail --location --silent --show-error --connect-timeout 20 \
    --speed-limit "$FETCH_SLOWEST" --speed-time "$FETCH_SLOW_SECONDS" --continue-at - --output "$2" --write-out '%{http_code}\n' "$1"
}

# fetch_words LOG: prints what curl said, without its own name and without the status behind it.
fetch_words() {
  sed -n 's/^curl: //p' "$1" | tail -n 1
}

# need_room FOLDER MIB: refuses if the disk has less.
need_room() {
  local free
  free="$(df -Pk "$1" | awk 'NR == 2 { print int($4 / 1024) }')"
  [[ "${free:-0}" -ge "$2" ]] || refuse "$FETCH_FOR: $2 MiB are needed in $1, and $free MiB are free" "make room there"
}

# refuse_full FOLDER: if that is why something could not be written.
refuse_full() {
  local free
  free="$(df -Pk "$1" | awk 'NR == 2 { print $4 }')"
  # Less than the smallest of the programs, of which a part was written.
  [[ "${free:-0}" -ge 1024 ]] || refuse "$FETCH_FOR: the disk of $1 is full: $free KiB are free" "make room there, then try again; what was downloaded is kept"
}

# unpack CACHE ARCHIVE FOLDER OPTION...: refuses if it cannot be unpacked whole. Owners and rights beyond reading and executing stay out.
unpack() {
  local cache="$1" archive="$2" folder="$3" log="$1/$FETCH_FOR.log"
  shift 3
  if ! while_waiting "unpacking ${archive##*/}" "$log" tar --extract --file "$archive" --directory "$folder" --no-same-owner --no-same-permissions "$@"; then
    refuse_full "$folder"
    refuse "$FETCH_FOR: $archive cannot be unpacked: $(grep -v 'Exiting with failure\|Error is not recoverable' "$log" | tail -n 1)" "take it away, then try again"
  fi
}
