# Downloads files: resumes an interrupted download, and accepts only a file with the known digest. The caller names the purpose in FETCH_FOR, and another
# remedy in FETCH_ELSEWHERE.
# shellcheck shell=bash

# Ends and resumes a download with fewer bytes per second than this, for this time.
FETCH_SLOWEST=10000
FETCH_SLOW_SECONDS=30
# How often a download without progress is tried, and the pause between in seconds.
FETCH_TRIES=5
FETCH_PAUSE=2
# The bytes that count as progress: otherwise a server that sends a little each time would keep this trying for ever.
FETCH_PROGRESS=1048576
# The allowed protocols. A download with a digest in the source may use any; one with a fetched digest may not.
FETCH_PROTOCOLS==https

# The files with the trusted authorities of Debian, Fedora and SUSE.
CERTIFICATES=(/etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem)

# need_curl: provides the program that downloads. Changes the PATH.
need_curl() {
  provide_programs "$POLIS_CACHE" curl
  has_program curl || refuse "$FETCH_FOR: this machine has no curl for the download" "install the package curl, or $FETCH_ELSEWHERE"
}

# need_certificates: prints the file of the authorities that this machine trusts. Its package is missing if git was installed without its recommended packages.
need_certificates() {
  certificates && return
  provide_programs "$POLIS_CACHE" update-ca-certificates
  certificates || refuse "$FETCH_FOR: this machine trusts no server, because ${CERTIFICATES[0]} is missing" "install the package ca-certificates"
}

# certificates: prints the first existing file of these, or fails.
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
    # The rest of an earlier run may belong to another file.
    say "$url does not continue the $before bytes of an earlier download; starting over"
    rm -f "$file.part"
    fetch "$url" "$file.part"
    have="$(digest_of "$file.part" "$algorithm")"
  fi
  if [[ "$have" != "$digest" ]]; then
    rm -f "$file.part"
    refuse "$FETCH_FOR: $url has the ${algorithm^^} $have, and not $digest: it is damaged or another file; ./polis has unpacked nothing" "try again later, or $FETCH_ELSEWHERE"
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

# fetch URL FILE: downloads the whole file, or refuses. This call and the next one resume an interrupted download.
fetch() {
  local url="$1" file="$2" log="$2.log" tries=0 code before status
  local give_up="try again, which continues the download; or $FETCH_ELSEWHERE"
  while true; do
    before="$(size_of "$file")"
    code=0
    while_waiting "fetching $url" "$log" curl_once "$url" "$file" || code=$?
    [[ $code != 0 ]] || break
    status="$(tail -n 1 "$log")"
    if [[ $code == 22 && "$status" == 416 && "$before" != 0 && $tries == 0 ]]; then
      break # The server has no further bytes: the file may be complete, which its digest shows.
    fi
    case $code in
      22) [[ "$status" == 5?? || "$status" == 416 || "$status" == 429 ]] || refuse "$FETCH_FOR: $url: the server answers $status" "$FETCH_ELSEWHERE" ;;
      23)
        refuse_full "$(dirname "$file")"
        refuse "$FETCH_FOR: cannot write $file: $(fetch_words "$log")" "repair the disk, then try again"
        ;;
      35 | 51 | 60 | 77) refuse "$FETCH_FOR: this machine does not trust $url: $(fetch_words "$log")" "check the machine's clock and its certificates; or $FETCH_ELSEWHERE" ;;
      1 | 2 | 3) refuse "$FETCH_FOR: cannot fetch $url: $(fetch_words "$log")" "give a URL that begins with ${FETCH_PROTOCOLS#=}://" ;;
    esac
    # 33: the server does not resume.
    [[ $code != 33 && "$status" != 416 ]] || rm -f "$file"
    # The bytes of a server that is too slow do not count; they would keep this trying for hours.
    if [[ $code != 28 && $(($(size_of "$file") - before)) -ge $FETCH_PROGRESS ]]; then tries=0; fi
    tries=$((tries + 1))
    if [[ $tries -ge $FETCH_TRIES ]]; then
      if [[ $code == 28 && "$(size_of "$file")" != 0 ]]; then
        refuse "$FETCH_FOR: $url sent fewer than $FETCH_SLOWEST bytes a second for $FETCH_SLOW_SECONDS s, $tries times" "$give_up"
      fi
      refuse "$FETCH_FOR: $url could not be fetched in $tries tries; $(size_of "$file") bytes have arrived: $(fetch_words "$log")" "$give_up"
    fi
    sleep "$FETCH_PAUSE"
  done
  rm -f "$log"
}

# curl_once URL FILE: its last line is the status of the server's answer.
curl_once() {
  curl --proto "$FETCH_PROTOCOLS" --proto-redir "$FETCH_PROTOCOLS" --fail --location --silent --show-error --connect-timeout 20 \
    --speed-limit "$FETCH_SLOWEST" --speed-time "$FETCH_SLOW_SECONDS" --continue-at - --output "$2" --write-out '%{http_code}\n' "$1"
}

# fetch_words LOG: prints curl's message, without its own name and without the status after it.
fetch_words() {
  sed -n 's/^curl: //p' "$1" | tail -n 1
}

# need_room FOLDER MIB: refuses if the disk has less.
need_room() {
  local free
  free="$(df -Pk "$1" | awk 'NR == 2 { print int($4 / 1024) }')"
  [[ "${free:-0}" -ge "$2" ]] || refuse "$FETCH_FOR: $1 needs $2 MiB, and has $free MiB free" "make room there"
}

# refuse_full FOLDER: refuses if a full disk was the reason of a failed write.
refuse_full() {
  local free
  free="$(df -Pk "$1" | awk 'NR == 2 { print $4 }')"
  # Less than the smallest program, of which a part was written.
  [[ "${free:-0}" -ge 1024 ]] || refuse "$FETCH_FOR: the disk of $1 is full: $free KiB are free" "make room there, then try again; ./polis keeps the downloaded files"
}

# unpack CACHE ARCHIVE FOLDER OPTION...: refuses if tar cannot unpack all of it. It ignores owners, and rights beyond reading and executing.
unpack() {
  local cache="$1" archive="$2" folder="$3" log="$1/$FETCH_FOR.log"
  shift 3
  if ! while_waiting "unpacking ${archive##*/}" "$log" tar --extract --file "$archive" --directory "$folder" --no-same-owner --no-same-permissions "$@"; then
    refuse_full "$folder"
    refuse "$FETCH_FOR: $archive cannot be unpacked: $(grep -v 'Exiting with failure\|Error is not recoverable' "$log" | tail -n 1)" "remove it, then try again"
  fi
}
