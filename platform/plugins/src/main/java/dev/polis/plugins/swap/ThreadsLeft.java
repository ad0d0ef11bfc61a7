package dev.polis.plugins.swap;

import java.net.URL;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Enumeration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;

/** Finds the platform threads of stopped bundles that still run. */
final class ThreadsLeft {
  /** The time for a thread to end, the same as for interrupted code. */
  private static final Duration GRACE = Duration.ofSeconds(2);

  /** The number of shown names, which a person can read; the number of threads covers the rest. */
  private static final int NAMED = 5;

  private static final String CLASS = ".class";

  private final Set<Thread> suspects;
  private final Set<String> classes;

  /**
   * Remembers the threads to look for, while the bundles are still installed.
   *
   * @param suspects threads that include those of the bundles
   */
  ThreadsLeft(Set<Thread> suspects, Collection<Bundle> bundles) {
    this.suspects = suspects;
    this.classes = bundles.stream().flatMap(ThreadsLeft::classes).collect(Collectors.toSet());
  }

  private static Stream<String> classes(Bundle bundle) {
    Set<String> names = new HashSet<>();
    Enumeration<URL> found = bundle.findEntries("/", "*" + CLASS, true);
    while (found != null && found.hasMoreElements()) {
      String path = found.nextElement().getPath();
      names.add(path.substring(1, path.length() - CLASS.length()).replace('/', '.'));
    }
    return names.stream();
  }

  /**
   * Waits a moment for the threads to end, and names the remaining ones; empty if all have ended.
   */
  Optional<String> words() throws InterruptedException {
    long deadline = System.nanoTime() + GRACE.toNanos();
    List<String> left = new ArrayList<>();
    for (Thread each : suspects) {
      // LimitedCall itself reports a call on the engine's own threads that does not end.
      if (each.getName().startsWith(LimitedCall.PREFIX) || !isInside(each)) {
        continue;
      }
      each.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
      if (each.isAlive()) {
        left.add(each.getName());
      }
    }
    if (left.isEmpty()) {
      return Optional.empty();
    }
    String names = left.stream().sorted().limit(NAMED).collect(Collectors.joining(", "));
    return Optional.of(
        "%d %s that it started run on until the process is restarted: %s%s"
            .formatted(
                left.size(),
                left.size() == 1 ? "thread" : "threads",
                names,
                left.size() > NAMED ? ", …" : ""));
  }

  /** Returns the threads that run at this moment. */
  List<Thread> running() {
    return suspects.stream().filter(Thread::isAlive).filter(this::isInside).toList();
  }

  private boolean isInside(Thread thread) {
    return Stream.of(thread.getStackTrace())
        .anyMatch(frame -> classes.contains(frame.getClassName()));
  }
}
