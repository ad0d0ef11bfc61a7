package dev.polis.ctl.session;

import dev.polis.process.Silence;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
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
    return number(file).isEmpty() ? UNKNOWN : living(file).isPresent() ? LIVES : ENDED;
  }

  /** Returns the number of the process if it lives. */
  static Optional<Long> living(Path file) {
    return number(file).filter(number -> ProcessHandle.of(number).isPresent());
  }

  /** Returns the number of the process if a signal or a debugger has stopped it. */
  static Optional<Long> stopped(Path file) {
    return number(file).filter(Silence::stopped);
  }

  private static Optional<Long> number(Path file) {
    try {
      return Optional.of(Files.readString(file).strip())
          .filter(NUMBER.asMatchPredicate())
          .map(Long::parseLong);
    } catch (IOException unreadable) {
      return Optional.empty();
    }
  }
}
