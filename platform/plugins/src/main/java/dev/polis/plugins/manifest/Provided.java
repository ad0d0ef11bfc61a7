package dev.polis.plugins.manifest;

/** Names an organ or a role of a plugin. */
public sealed interface Provided {

  /** Returns the name of the organ or role. */
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
