package dev.polis.benchmarks;

import java.io.IOException;
import java.nio.file.Path;

/** Something that runs bundles and can replace one of them. */
interface Container extends AutoCloseable {

  /** Returns the port of the caller that it runs. */
  int port();

  /** Makes ready what is replaced next, before anything is measured. */
  default void prepare(Path jar) throws IOException, InterruptedException {}

  /**
   * Replaces the bundle that is called by another version; returns when that is over, or before.
   */
  void replace(Path jar) throws IOException, InterruptedException;

  @Override
  void close() throws IOException;
}
