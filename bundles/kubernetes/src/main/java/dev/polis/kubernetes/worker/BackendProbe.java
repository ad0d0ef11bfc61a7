package dev.polis.kubernetes.worker;

import java.net.InetSocketAddress;

/** Asks an API server whether it answers. */
@FunctionalInterface
interface BackendProbe {

  /** Returns whether it answers, within a few seconds. */
  boolean answers(InetSocketAddress server);
}
