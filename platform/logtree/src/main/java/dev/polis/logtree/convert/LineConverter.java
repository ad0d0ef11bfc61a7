package dev.polis.logtree.convert;

import dev.polis.logtree.LogPayload;
import java.util.Optional;
import org.osgi.annotation.versioning.ConsumerType;

/** Reads lines of one log format. Safe for use by any thread. */
@ConsumerType
@FunctionalInterface
public interface LineConverter {
  /**
   * Converts one line, given without its newline.
   *
   * @return the payload, or nothing if the line is not of this format or carries no message; the
   *     caller then decides whether to keep it as a raw entry
   */
  Optional<LogPayload> convert(String line);

  /** Takes every line as it is. */
  static LineConverter raw() {
    return line -> Optional.of(LogPayload.Raw.of(line));
  }
}
