package dev.polis.kubernetes.client;

import java.time.Duration;

/**
 * Holds how long a client waits for an API server.
 *
 * @param answer for a whole answer with its body, or for the beginning of a watch
 * @param watch the requested duration of a watch
 */
record KubeDeadlines(Duration answer, Duration watch) {

  /**
   * An API server itself ends a request that takes longer than a minute. A watch of five minutes
   * costs one list each time, and the client leaves a silent API server after six.
   */
  static final KubeDeadlines STANDARD =
      new KubeDeadlines(Duration.ofSeconds(70), Duration.ofMinutes(5));
}
