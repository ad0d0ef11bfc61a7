package dev.polis.kubernetes.client;

import java.time.Duration;

/**
 * Limits the time that a client waits for an API server.
 *
 * @param answer the time for a whole answer with its body, or for the beginning of a watch
 * @param watch the requested duration of a watch
 */
record KubeDeadlines(Duration answer, Duration watch) {

  /**
   * The default limits: an API server ends a request after a minute, and a watch of five minutes
   * costs one list each time. The client leaves a silent API server after six minutes.
   */
  static final KubeDeadlines STANDARD =
      new KubeDeadlines(Duration.ofSeconds(70), Duration.ofMinutes(5));
}
