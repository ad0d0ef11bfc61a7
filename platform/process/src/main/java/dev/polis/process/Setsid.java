package dev.polis.process;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Finds the setsid program. setsid makes its own process the leader of a new session, then becomes
 * the wanted program in it: the process id stays the same, and no signal to the node's terminal or
 * process group reaches it.
 */
final class Setsid {
  private static final List<String> PLACES =
      List.of("/usr/bin/setsid", "/bin/setsid", "/usr/sbin/setsid");

  private Setsid() {}

  static String path() {
    return PLACES.stream()
        .filter(place -> Files.isExecutable(Path.of(place)))
        .findFirst()
        .orElseThrow(
            () ->
                new ProcessException("no setsid in " + PLACES + "; install util-linux or busybox"));
  }
}
