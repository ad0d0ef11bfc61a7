package dev.polis.kubernetes.balancer;

import java.net.InetSocketAddress;

/** Checks whether an API server answers. */
@FunctionalInterface
public interface BackendProbe {

  /** Returns whether the server answers within a few seconds. */
  boolean answers(InetSocketAddress server);
}
