package dev.polis.kubernetes.worker;

import dev.polis.base.values.MutableValue;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.logtree.Log;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Keeps the addresses of the API servers in a file, so that the worker's programs reach them before
 * the leader answers.
 */
record KnownControllers(FilePlacement file) {

  /** Publishes the servers of the file, unless this run already knows the present ones. */
  void offer(MutableValue<Set<InetSocketAddress>> controllers, Log log) {
    read(log).ifPresent(known -> controllers.update(now -> now.orElse(known)));
  }

  /** Reads the API servers of the last run; empty if the file is missing or unreadable. */
  Optional<Set<InetSocketAddress>> read(Log log) {
    switch (file.read().map(KnownControllers::parse)) {
      case Stored.Present<Set<InetSocketAddress>>(var path, var stored) -> {
        return Optional.of(stored);
      }
      case Stored.None<Set<InetSocketAddress>> none -> {}
      case Stored.Corrupted<Set<InetSocketAddress>>(var path, var reason) ->
          log.warning("the node ignores the remembered API servers %s: %s", path, reason);
      case Stored.Unreadable<Set<InetSocketAddress>>(var path, var reason, var cause) ->
          log.warning("the node ignores the remembered API servers %s: %s", path, reason);
    }
    return Optional.empty();
  }

  /** Writes the file; a failure is only logged, since the servers are known for this run. */
  void write(Set<InetSocketAddress> controllers, Log log) {
    try {
      WorkerFiles.write(
          file,
          controllers.stream()
              .map(each -> each.getAddress().getHostAddress() + " " + each.getPort() + "\n")
              .collect(Collectors.joining()));
    } catch (FileException e) {
      log.warning("the node cannot store the API servers for its next start: %s", e.getMessage());
    }
  }

  private static Set<InetSocketAddress> parse(byte[] bytes) {
    Set<InetSocketAddress> found = new LinkedHashSet<>();
    for (String line : new String(bytes, StandardCharsets.UTF_8).lines().toList()) {
      String[] parts = line.split(" ");
      if (parts.length != 2) {
        throw new IllegalArgumentException(
            "line \"%s\" is not an address and a port".formatted(line));
      }
      found.add(new InetSocketAddress(InetAddress.ofLiteral(parts[0]), Integer.parseInt(parts[1])));
    }
    return found;
  }
}
