package dev.polis.files;

import dev.polis.files.FileException.Problem;
import java.nio.file.Path;
import java.util.function.Function;

/**
 * Holds the outcome of reading a file of the state directory. Only {@link None} means "this was
 * never written": only then may a caller create, format or delete something.
 *
 * @param <T> the type of the content
 */
public sealed interface Stored<T> {

  /** Returns the path of the file. */
  Path path();

  /** Means that there is no file. */
  record None<T>(Path path) implements Stored<T> {}

  /** Means that the file was read and is complete. */
  record Present<T>(Path path, T value) implements Stored<T> {}

  /**
   * Means that the content differs from what the node wrote: it is truncated, overwritten, or of
   * another program.
   */
  record Corrupted<T>(Path path, String reason) implements Stored<T> {}

  /**
   * Means that the file could not be read, although it may exist: permissions, a bad disk, or a
   * missing sealer prevent it. Another attempt may succeed.
   */
  record Unreadable<T>(Path path, String reason, FileException cause) implements Stored<T> {}

  /**
   * Returns the same outcome with the value converted; an {@link IllegalArgumentException} of the
   * conversion means corruption.
   */
  default <R> Stored<R> map(Function<? super T, ? extends R> conversion) {
    return then(value -> new Present<>(path(), conversion.apply(value)));
  }

  /**
   * Returns the outcome of a further step with the value; an {@link IllegalArgumentException} of
   * the step means corruption.
   */
  default <R> Stored<R> then(Function<? super T, Stored<R>> step) {
    return switch (this) {
      case None<T>(Path path) -> new None<>(path);
      case Corrupted<T>(Path path, String reason) -> new Corrupted<>(path, reason);
      case Unreadable<T>(Path path, String reason, FileException cause) ->
          new Unreadable<>(path, reason, cause);
      case Present<T>(Path path, T value) -> {
        try {
          yield step.apply(value);
        } catch (IllegalArgumentException e) {
          yield new Corrupted<>(path, e.getMessage());
        }
      }
    };
  }

  /**
   * Returns the value.
   *
   * @throws FileException for each other outcome
   */
  default T orThrow() throws FileException {
    return switch (this) {
      case Present<T>(Path path, T value) -> value;
      case None<T>(Path path) ->
          throw new FileException(
              Problem.ABSENT,
              path + " does not exist",
              "bring it back from a copy of this disk; nothing was changed");
      case Corrupted<T>(Path path, String reason) ->
          throw new FileException(
              Problem.CORRUPTED,
              path + " is corrupted: " + reason,
              "restore it from a copy; nothing was changed");
      case Unreadable<T>(Path path, String reason, FileException cause) -> throw cause;
    };
  }
}
