package org.example.postgresql;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.UserPrincipal;
import java.nio.file.attribute.UserPrincipalNotFoundException;

/**
 * Names the account that the server runs as. PostgreSQL refuses to run as root.
 *
 * @param name empty where the node is not root: then everything belongs to the node's own user
 */
record PostgresAccount(String name) {

  private static final String DEBIAN = "postgres";
  private static final String LEAST = "nobody";

  /** Returns the configured account, or the one that Debian's package has made. */
  static PostgresAccount choose(String configured) throws IOException {
    if (!"root".equals(System.getProperty("user.name"))) {
      return new PostgresAccount("");
    }
    if (!configured.isBlank()) {
      return new PostgresAccount(configured);
    }
    return new PostgresAccount(exists(DEBIAN) ? DEBIAN : LEAST);
  }

  private static boolean exists(String name) throws IOException {
    try {
      lookUp(name);
      return true;
    } catch (UserPrincipalNotFoundException none) {
      return false;
    }
  }

  private static UserPrincipal lookUp(String name) throws IOException {
    return FileSystems.getDefault().getUserPrincipalLookupService().lookupPrincipalByName(name);
  }

  /** Gives a file or folder to the account. */
  void own(Path path) throws IOException {
    if (!name.isEmpty()) {
      Files.setOwner(path, lookUp(name));
    }
  }

  /**
   * Checks that the account can get to a folder.
   *
   * @throws IOException naming the first folder above that is in the way
   */
  void requireReachable(Path folder) throws IOException {
    for (Path above = folder; above != null && !name.isEmpty(); above = above.getParent()) {
      if (!Files.getPosixFilePermissions(above).contains(PosixFilePermission.OTHERS_EXECUTE)) {
        throw new IOException(
            "the account %s cannot get to %s, as %s lets no other account pass: chmod o+x %s"
                .formatted(name, folder, above, above));
      }
    }
  }
}
