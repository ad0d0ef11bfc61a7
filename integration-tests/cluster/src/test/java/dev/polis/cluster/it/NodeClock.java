package dev.polis.cluster.it;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Steps the wall clock of one node's JVM while it runs, with Debian's libfaketime; the machine's
 * clock stays. Its monotonic clock and its timed waits stay true, as they do when a machine's clock
 * is set. etcd is a static program without the C library, so it keeps the machine's clock: it
 * counts its leases and elections by the monotonic clock, and reads the wall clock for certificates
 * and its log alone.
 */
final class NodeClock {

  /** The clock of the machine. */
  static final String TRUE = "+0";

  private static final String LIBRARY = "usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

  private final Path library;
  private final Path file;

  private NodeClock(Path library, Path file) {
    this.library = library;
    this.file = file;
  }

  /** Returns the library of this machine, or of the programs that {@code polis test} unpacks. */
  static Optional<Path> library() {
    return Stream.concat(
            Stream.of(Path.of("/")),
            Stream.of(System.getenv("PATH").split(":"))
                .map(folder -> Path.of(folder).resolveSibling("root")))
        .map(root -> root.resolve(LIBRARY))
        .filter(Files::isRegularFile)
        .findFirst();
  }

  /**
   * Makes the clock of a node that is not started yet.
   *
   * @param file the file to make, which holds the step
   */
  static NodeClock of(TestNode node, Path library, Path file, String step) throws IOException {
    NodeClock clock = new NodeClock(library, file);
    clock.set(step);
    node.behind(clock.command());
    return clock;
  }

  private List<String> command() {
    return List.of(
        "env",
        "LD_PRELOAD=" + library,
        "FAKETIME_TIMESTAMP_FILE=" + file,
        // Each reading of the clock reads the file, so a step comes at once.
        "FAKETIME_NO_CACHE=1",
        "DONT_FAKE_MONOTONIC=1",
        // With its other way, waits of the JVM return at once.
        "FAKETIME_FORCE_MONOTONIC_FIX=0",
        "NO_FAKE_STAT=1");
  }

  /**
   * Steps the clock.
   *
   * @param step the difference to the machine's clock, such as {@code -1h} or {@code +0.25}, in
   *     seconds; not a rate such as {@code x1.1}, with which the library shortens waits for good
   */
  void set(String step) throws IOException {
    Path next = Files.writeString(file.resolveSibling(file.getFileName() + ".new"), step + "\n");
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
  }
}
