package dev.polis.files;

import java.util.regex.Pattern;

/**
 * Declares a folder on the data volume that belongs to one organ or role. The platform knows no
 * list of them: each organ or role declares the folder that it needs.
 *
 * @param name one part of a path, matching {@code [a-z][a-z0-9_-]{0,62}}; a role takes its bundle's
 *     or its own name, so that no two meet
 * @param mode who may enter it
 */
public record OrganFolder(String name, Mode mode) {
  private static final Pattern GRAMMAR = Pattern.compile("[a-z][a-z0-9_-]{0,62}");

  /** Refuses a malformed name and a mode that is not one of a directory. */
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
