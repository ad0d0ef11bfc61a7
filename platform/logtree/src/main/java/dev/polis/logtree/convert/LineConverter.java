package dev.polis.logtree.convert;

import dev.polis.logtree.LogPayload;
import java.util.Optional;
import org.osgi.annotation.versioning.ConsumerType;

/** Reads lines of one log format. Safe for use by any thread. */
@ConsumerType
@FunctionalInterface
public interface LineConverter {
  /**
   * Converts one line without its newline.
   *
   * @return the payload; empty if the line has another format or no message, and the caller then
   *     decides whether to keep it as a raw entry
   */
  Optional<LogPayload> convert(String line);

  /** Returns a converter that keeps each line unchanged. */
  static LineConverter raw() {
    return line -> Optional.of(LogPayload.Raw.of(line));
  }
}
