package dev.polis.benchmarks;

import java.io.IOException;
import java.nio.file.Path;

/** Runs bundles and can replace one of them. */
interface Container extends AutoCloseable {

  /** Returns the port of the caller that it runs. */
  int port();

  /** Prepares the next replacement, before the measurement. */
  default void prepare(Path jar) throws IOException, InterruptedException {}

  /** Replaces the called bundle by another version; may return before that is over. */
  void replace(Path jar) throws IOException, InterruptedException;

  @Override
  void close() throws IOException;
}
