package dev.polis.files;

import java.util.regex.Pattern;

/**
 * Declares the folder of one organ or role on the data volume. The platform has no list of folders:
 * each organ or role declares its own.
 *
 * @param name one part of a path, matching {@code [a-z][a-z0-9_-]{0,62}}; a role takes its bundle's
 *     or its own name, so that all names differ
 * @param mode its access mode
 */
public record OrganFolder(String name, Mode mode) {
  private static final Pattern GRAMMAR = Pattern.compile("[a-z][a-z0-9_-]{0,62}");

  /** Refuses a malformed name and the mode of a file. */
  public OrganFolder {
    if (!GRAMMAR.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "\"%s\" cannot be an organ's folder: use 1 to 63 of a-z, 0-9, '_' and '-', beginning with a letter"
              .formatted(name));
    }
    if (mode == Mode.SECRET || mode == Mode.PUBLIC) {
      throw new IllegalArgumentException(
          "folder %s has the mode %s, which is one of files: choose %s, %s or %s"
              .formatted(
                  name,
                  mode,
                  Mode.PRIVATE_DIRECTORY,
                  Mode.PASSABLE_DIRECTORY,
                  Mode.PUBLIC_DIRECTORY));
    }
  }
}
