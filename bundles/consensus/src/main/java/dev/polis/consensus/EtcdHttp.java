package dev.polis.consensus;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import dev.polis.api.metrics.MetricsAnswer;
import dev.polis.process.LocalHttp;
import dev.polis.process.ManagedProcess;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.UnixDomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * Reads etcd's health and metrics. etcd serves both without TLS, and its command line with them, so
 * it listens at a unix socket in a directory that only the node's user can enter.
 */
final class EtcdHttp {

  /** The socket's name in etcd's working directory. */
  static final String SOCKET = "metrics.sock";

  /** The time for the health, before which etcd makes a quorum read of at most 5 s. */
  private static final Duration HEALTH_PATIENCE = Duration.ofSeconds(6);

  /**
   * The time for an answer, which takes milliseconds; the node reports a silence only after several
   * missed answers.
   */
  private static final Duration ANSWER_PATIENCE = Duration.ofSeconds(1);

  /**
   * The time for metrics, half of Prometheus' default of 10 s, so that Prometheus gets the reason
   * of a failure.
   */
  private static final Duration METRICS_PATIENCE = Duration.ofSeconds(5);

  /** The largest metrics page, about thirty times etcd's. */
  private static final int MOST_BYTES = 8 << 20;

  private static final Gson GSON = new Gson();

  /** Holds etcd's answer; null without the field, which is a string. */
  private record Health(String health) {}

  private EtcdHttp() {}

  /**
   * Checks the health once.
   *
   * @return empty if etcd is healthy, else the fault, as a clause
   */
  static Optional<String> problem(ManagedProcess etcd) {
    try {
      LocalHttp.Answer answer = LocalHttp.get(socket(etcd), "/health", HEALTH_PATIENCE, MOST_BYTES);
      String text = new String(answer.body(), StandardCharsets.UTF_8).strip();
      return isHealthy(text) ? Optional.empty() : Optional.of("it answers " + text);
    } catch (IOException notYet) {
      return Optional.of("it does not answer: " + notYet.getMessage());
    }
  }

  /** Returns whether etcd answers a request that it serves from memory. */
  static boolean answers(ManagedProcess etcd) {
    return LocalHttp.status(socket(etcd), "/health?serializable=true", ANSWER_PATIENCE).isPresent();
  }

  private static boolean isHealthy(String answer) {
    try {
      Health health = GSON.fromJson(answer, Health.class);
      return health != null && "true".equals(health.health());
    } catch (JsonParseException otherText) {
      return false;
    }
  }

  /** Reads the figures of an etcd that answers at once; returns empty if it does not. */
  static Optional<EtcdFigures> figures(ManagedProcess etcd) {
    try {
      return EtcdFigures.parse(
          new String(
              LocalHttp.get(socket(etcd), "/metrics", ANSWER_PATIENCE, MOST_BYTES).body(),
              StandardCharsets.UTF_8));
    } catch (IOException silent) {
      return Optional.empty();
    }
  }

  /** Reads the metrics page. */
  static MetricsAnswer metrics(ManagedProcess etcd) {
    try {
      LocalHttp.Answer answer =
          LocalHttp.get(socket(etcd), "/metrics", METRICS_PATIENCE, MOST_BYTES);
      return answer.status() == HttpURLConnection.HTTP_OK
          ? new MetricsAnswer.Page(answer.contentType(), answer.body())
          : new MetricsAnswer.Unavailable(
              "etcd (pid %d) answers %d instead of its metrics; see the log of root.consensus"
                  .formatted(etcd.pid(), answer.status()));
    } catch (IOException silent) {
      return new MetricsAnswer.Unavailable(
          "etcd (pid %d) does not answer: %s; see the log of root.consensus"
              .formatted(etcd.pid(), silent.getMessage()));
    }
  }

  /**
   * Returns the address of the socket, through the process's working directory. The path of a unix
   * socket has 107 bytes at most, and that of a state directory may be longer.
   */
  private static UnixDomainSocketAddress socket(ManagedProcess etcd) {
    return UnixDomainSocketAddress.of(Path.of("/proc", Long.toString(etcd.pid()), "cwd", SOCKET));
  }
}
