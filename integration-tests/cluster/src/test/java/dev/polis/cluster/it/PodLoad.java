package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.fixtures.MachineSpeed;
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
 * counts requests that failed, were answered late, or were not sent because too many were under
 * way.
 */
final class PodLoad implements AutoCloseable {

  /** The interval of 50 requests a second. */
  private static final Duration INTERVAL = Duration.ofMillis(20);

  /**
   * An undisturbed Pod answers within milliseconds; a person would notice a wait of this length.
   */
  static final Duration LATE = Duration.ofSeconds(2);

  /** Long, so that a late answer is distinguished from a missing one. */
  private static final Duration ANSWER = Duration.ofSeconds(30);

  /** The requests of six seconds: a busy machine stays below, hanging Pods reach it. */
  private static final int MOST = 300;

  private final ScheduledExecutorService ticks = Executors.newSingleThreadScheduledExecutor();
  private final MachineSpeed speed = MachineSpeed.measure();
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(ANSWER).build();
  private final HttpRequest request;
  private final Semaphore free = new Semaphore(MOST);
  private final long began = System.nanoTime();
  private final AtomicLong sent = new AtomicLong();
  private final AtomicLong answered = new AtomicLong();
  private final AtomicLong slowest = new AtomicLong();
  private final ConcurrentLinkedQueue<String> faults = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<String> lateAnswers = new ConcurrentLinkedQueue<>();

  private PodLoad(URI service) {
    this.request = HttpRequest.newBuilder(service).timeout(ANSWER).build();
  }

  /** Begins the requests at once. */
  static PodLoad on(URI service) {
    PodLoad load = new PodLoad(service);
    // Not at a fixed rate: the burst after a stall of the machine would look like a slow Pod.
    load.ticks.scheduleWithFixedDelay(load::ask, 0, INTERVAL.toNanos(), TimeUnit.NANOSECONDS);
    return load;
  }

  private void ask() {
    if (!free.tryAcquire()) {
      faults.add("dropped %s: %d are under way".formatted(moment(), MOST));
      return;
    }
    sent.incrementAndGet();
    long begun = System.nanoTime();
    http.sendAsync(request, BodyHandlers.ofString())
        .whenComplete(
            (response, failure) -> {
              long took = System.nanoTime() - begun;
              slowest.accumulateAndGet(took, Math::max);
              if (failure != null) {
                faults.add("failed %s: %s".formatted(moment(), failure));
              } else if (response.statusCode() != 200) {
                faults.add("failed %s: code %d".formatted(moment(), response.statusCode()));
              } else {
                answered.incrementAndGet();
                if (took > LATE.toNanos()) {
                  lateAnswers.add("late %s: after %d ms".formatted(moment(), took / 1_000_000));
                }
              }
              // The last step, since the end of the load waits for it and then reads the counters.
              free.release();
            });
  }

  private String moment() {
    return "at %.1f s".formatted((System.nanoTime() - began) / 1e9);
  }

  /** Makes one request now. */
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

  /** Returns the number of requests that failed or were not sent in their turn. */
  int faults() {
    return faults.size();
  }

  /**
   * Ends the load, and waits for the requests under way. Fails if a request failed, was not sent in
   * its turn, or was answered late.
   */
  void requireServed(String what) throws InterruptedException {
    ticks.shutdownNow();
    if (!free.tryAcquire(MOST, ANSWER.toSeconds() + 1, TimeUnit.SECONDS)) {
      faults.add("%d are still under way".formatted(MOST - free.availablePermits()));
    }
    assertEquals(List.of(), List.copyOf(faults), () -> "%s: %s".formatted(what, this));
    speed.assertWithin(
        "%s: %s; %s; the slowest was answered".formatted(what, this, List.copyOf(lateAnswers)),
        LATE,
        Duration.ofNanos(slowest.get()));
  }

  @Override
  public String toString() {
    return "%d requests sent in %.1f s: %d answered, %d of them late, the slowest after %d ms; %d failed or were not sent"
        .formatted(
            sent.get(),
            (System.nanoTime() - began) / 1e9,
            answered.get(),
            lateAnswers.size(),
            slowest.get() / 1_000_000,
            faults.size());
  }

  @Override
  public void close() {
    ticks.shutdownNow();
    http.shutdownNow();
  }
}
