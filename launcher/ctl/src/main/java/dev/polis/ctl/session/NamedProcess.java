package dev.polis.ctl.session;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/** Lists the states of a process whose number a file of a node holds. */
enum NamedProcess {
  /** It lives; it may not have done yet what the file announces. */
  LIVES,
  /** It has ended, and left the file behind. */
  ENDED,
  /** The file is not there, not for this user, or has other content. */
  UNKNOWN;

  private static final Pattern NUMBER = Pattern.compile("\\d{1,18}");

  static NamedProcess of(Path file) {
    try {
      String text = Files.readString(file).strip();
      if (!NUMBER.matcher(text).matches()) {
        return UNKNOWN;
      }
      return ProcessHandle.of(Long.parseLong(text)).isPresent() ? LIVES : ENDED;
    } catch (IOException unreadable) {
      return UNKNOWN;
    }
  }
}
