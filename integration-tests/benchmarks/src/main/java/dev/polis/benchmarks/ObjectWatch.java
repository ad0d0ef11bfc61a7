package dev.polis.benchmarks;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.kubernetes.client.KubeClient;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;

/**
 * Follows the objects of a collection, and records the time at which each state was first seen.
 * Repeats the request at once while the API server does not answer.
 */
final class ObjectWatch implements AutoCloseable {

  /** Several times the slowest observed start. */
  private static final Duration PATIENCE = Duration.ofSeconds(180);

  /** Short in comparison with the measured times, and no load. */
  private static final Duration AGAIN = Duration.ofMillis(25);

  private record Seen(JsonObject object, long nanos) {}

  private final KubeClient client;
  private final String collection;
  private final Thread thread;
  private final CountDownLatch closed = new CountDownLatch(1);

  // Guarded by this.
  private final Map<String, Seen> seen = new TreeMap<>();
  private String problem = "it was not asked yet";

  private ObjectWatch(ApiAccess access, String collection) {
    this.client = access.client();
    this.collection = collection;
    this.thread = Thread.ofVirtual().name("watch of " + collection).unstarted(this::run);
  }

  static ObjectWatch of(ApiAccess access, String collection) {
    ObjectWatch watch = new ObjectWatch(access, collection);
    watch.thread.start();
    return watch;
  }

  static ObjectWatch nodes(ApiAccess access) {
    return of(access, "/api/v1/nodes");
  }

  private void run() {
    try {
      do {
        follow();
      } while (!closed.await(AGAIN.toMillis(), TimeUnit.MILLISECONDS));
    } catch (InterruptedException end) {
      Thread.currentThread().interrupt();
    }
  }

  private void follow() throws InterruptedException {
    try {
      JsonObject list = client.list(collection);
      KubeClient.items(list).forEach(this::put);
      String version = list.getAsJsonObject("metadata").get("resourceVersion").getAsString();
      client.watch(collection + "?resourceVersion=" + version, this::accept);
    } catch (IOException e) {
      synchronized (this) {
        problem = e.getMessage() == null ? e.toString() : e.getMessage();
      }
    }
  }

  private void accept(JsonObject event) {
    switch (event.get("type").getAsString()) {
      case "ADDED", "MODIFIED" -> put(event.getAsJsonObject("object"));
      case "DELETED" -> remove(event.getAsJsonObject("object"));
      default -> {
        // A bookmark carries no state, and after an error the server ends the watch.
      }
    }
  }

  private synchronized void put(JsonObject object) {
    seen.put(name(object), new Seen(object, System.nanoTime()));
    notifyAll();
  }

  private synchronized void remove(JsonObject object) {
    seen.remove(name(object));
    notifyAll();
  }

  private static String name(JsonObject object) {
    return object.getAsJsonObject("metadata").get("name").getAsString();
  }

  /** Waits for an object, and returns the time at which it was seen, as {@link System#nanoTime}. */
  synchronized long await(Predicate<JsonObject> wanted)
      throws InterruptedException, TimeoutException {
    Optional<Seen> found = first(wanted);
    for (long end = System.nanoTime() + PATIENCE.toNanos(); found.isEmpty(); ) {
      pause(end);
      found = first(wanted);
    }
    return found.get().nanos();
  }

  /** Returns an object that exists now. */
  synchronized JsonObject object(String name) {
    return seen.get(name).object();
  }

  /** Waits until an object is deleted. */
  synchronized void awaitGone(String name) throws InterruptedException, TimeoutException {
    for (long end = System.nanoTime() + PATIENCE.toNanos(); seen.containsKey(name); ) {
      pause(end);
    }
  }

  private Optional<Seen> first(Predicate<JsonObject> wanted) {
    return seen.values().stream().filter(each -> wanted.test(each.object())).findFirst();
  }

  private void pause(long end) throws InterruptedException, TimeoutException {
    long left = Duration.ofNanos(end - System.nanoTime()).toMillis();
    if (left <= 0) {
      throw new TimeoutException(
          "the awaited state of %s did not come within %d s; the last error: %s; seen: %s"
              .formatted(collection, PATIENCE.toSeconds(), problem, seen.values()));
    }
    wait(left);
  }

  /** Returns whether a Node or a Pod reports that it is Ready. */
  static boolean ready(JsonObject object) {
    JsonObject status = object.getAsJsonObject("status");
    if (status == null || !status.has("conditions")) {
      return false;
    }
    for (JsonElement each : status.getAsJsonArray("conditions")) {
      JsonObject condition = each.getAsJsonObject();
      if (condition.get("type").getAsString().equals("Ready")) {
        return condition.get("status").getAsString().equals("True");
      }
    }
    return false;
  }

  @Override
  public void close() {
    closed.countDown();
    thread.interrupt();
    client.close();
  }
}
