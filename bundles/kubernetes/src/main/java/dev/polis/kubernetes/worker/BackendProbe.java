package dev.polis.kubernetes.worker;

import java.net.InetSocketAddress;

/** Checks whether an API server answers. */
@FunctionalInterface
interface BackendProbe {

  /** Returns whether the server answers within a few seconds. */
  boolean answers(InetSocketAddress server);
}
