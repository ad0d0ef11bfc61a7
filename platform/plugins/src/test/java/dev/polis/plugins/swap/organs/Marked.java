package dev.polis.plugins.swap.organs;

/** Sets a system property when its static initializer runs. */
public final class Marked {
  /** The property that is set when this class is initialized. */
  public static final String PROPERTY = "dev.polis.plugins.swap.organs.initialized";

  static {
    System.setProperty(PROPERTY, "true");
  }

  private Marked() {}
}
