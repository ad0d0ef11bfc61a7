package dev.polis.plugins.swap.organs;

/** Says by a system property that its static part has run. */
public final class Marked {
  /** Is set when this class is initialized. */
  public static final String PROPERTY = "dev.polis.plugins.swap.organs.initialized";

  static {
    System.setProperty(PROPERTY, "true");
  }

  private Marked() {}
}
