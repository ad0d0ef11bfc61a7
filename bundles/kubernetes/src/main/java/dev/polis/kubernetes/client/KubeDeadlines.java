package dev.polis.kubernetes.client;

import java.time.Duration;

/**
 * Says how long a client waits for an API server.
 *
 * @param answer for a whole answer, its body included, or for the beginning of a watch
 * @param watch how long a watch is asked to last
 */
record KubeDeadlines(Duration answer, Duration watch) {

  /**
   * An API server ends what takes it longer than a minute itself. A watch of five minutes costs one
   * list each time, and an API server that has gone silent is left after six.
   */
  static final KubeDeadlines STANDARD =
      new KubeDeadlines(Duration.ofSeconds(70), Duration.ofMinutes(5));
}
