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

/** Finds the platform threads that bundles have started and that run on after them. */
final class ThreadsLeft {
  /** How long a thread that was asked to end may take: as long as interrupted code may. */
  private static final Duration GRACE = Duration.ofSeconds(2);

  /** As many names as a person reads; the number of threads says the rest. */
  private static final int NAMED = 5;

  private static final String CLASS = ".class";

  private final Set<Thread> suspects;
  private final Set<String> classes;

  /**
   * Remembers what to look for, while the bundles are still installed.
   *
   * @param suspects the threads that came with the bundles, among others
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

  /** Waits a moment for them to end, and says which did not; empty if all have ended. */
  Optional<String> words() throws InterruptedException {
    long deadline = System.nanoTime() + GRACE.toNanos();
    List<String> left = new ArrayList<>();
    for (Thread each : suspects) {
      // What was called on a thread of the engine's own says so itself when it does not end.
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

  /** Returns those that run at this moment. */
  List<Thread> running() {
    return suspects.stream().filter(Thread::isAlive).filter(this::isInside).toList();
  }

  private boolean isInside(Thread thread) {
    return Stream.of(thread.getStackTrace())
        .anyMatch(frame -> classes.contains(frame.getClassName()));
  }
}
