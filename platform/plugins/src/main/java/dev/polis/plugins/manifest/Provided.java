package dev.polis.plugins.manifest;

/** Names what a plugin provides to a node. */
public sealed interface Provided {

  /** Returns its name. */
  String name();

  /**
   * Provides an organ.
   *
   * @param name such as {@code metrics}
   */
  record Organ(String name) implements Provided {
    /**
     * @throws IllegalArgumentException if the name is malformed
     */
    public Organ {
      Names.ORGAN.require(name);
    }

    @Override
    public String toString() {
      return "organ " + name;
    }
  }

  /**
   * Provides a role.
   *
   * @param name such as {@code NightlyBackup}
   */
  record Role(String name) implements Provided {
    /**
     * @throws IllegalArgumentException if the name is malformed
     */
    public Role {
      Names.ROLE.require(name);
    }

    @Override
    public String toString() {
      return "role " + name;
    }
  }
}
