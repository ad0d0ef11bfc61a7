package dev.polis.cluster.it;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Makes 50 requests a second to a Service of a cluster, each over a connection of its own, and
 * keeps what failed. While many are under way no others are begun.
 */
final class PodLoad implements AutoCloseable {

  /** 50 a second. */
  private static final Duration INTERVAL = Duration.ofMillis(20);

  /** A busy machine of two cores may leave a request waiting; longer is a failure. */
  private static final Duration ANSWER = Duration.ofSeconds(30);

  /** Those of two seconds: a machine that is slower than that would only fall behind. */
  private static final int MOST = 100;

  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(ANSWER).build();
  private final HttpRequest request;
  private final Semaphore free = new Semaphore(MOST);
  private final AtomicLong answered = new AtomicLong();
  private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();

  private PodLoad(URI service) {
    this.request = HttpRequest.newBuilder(service).timeout(ANSWER).build();
  }

  /** Begins at once. */
  static PodLoad on(URI service) {
    PodLoad load = new PodLoad(service);
    load.clock.scheduleAtFixedRate(load::ask, 0, INTERVAL.toNanos(), TimeUnit.NANOSECONDS);
    return load;
  }

  private void ask() {
    if (!free.tryAcquire()) {
      return;
    }
    http.sendAsync(request, BodyHandlers.ofString())
        .whenComplete(
            (response, failure) -> {
              free.release();
              if (failure != null) {
                failures.add(failure.toString());
              } else if (response.statusCode() != 200) {
                failures.add("code " + response.statusCode());
              } else {
                answered.incrementAndGet();
              }
            });
  }

  /** Requests one answer, now. */
  static boolean answers(URI service) throws InterruptedException {
    try (HttpClient client = HttpClient.newBuilder().connectTimeout(ANSWER).build()) {
      return client
              .send(
                  HttpRequest.newBuilder(service).timeout(ANSWER).build(), BodyHandlers.ofString())
              .statusCode()
          == 200;
    } catch (IOException notYet) {
      return false;
    }
  }

  long answered() {
    return answered.get();
  }

  List<String> failures() {
    return List.copyOf(failures);
  }

  @Override
  public void close() {
    clock.shutdownNow();
    http.shutdownNow();
  }
}
