package dev.polis.plugins.swap.organs;

import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;

/** Stands for an activator that throws an exception whose message is never complete. */
public final class EndlessMessage extends IllegalStateException implements BundleActivator {
  private static final long serialVersionUID = 1;

  /** The behaviour of a bundle with this activator. */
  public static final String BEHAVIOUR = "endless-message";

  @Override
  public void start(BundleContext context) {
    throw this;
  }

  @Override
  public void stop(BundleContext context) {
    // It never started.
  }

  @Override
  public String getMessage() {
    TestOrgan.loop();
    return "the test has ended";
  }
}
