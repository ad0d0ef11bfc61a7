package dev.polis.rpc;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** Finds out who has a TCP port on this machine, from what the kernel shows of itself. */
final class HostPortOwner {
  /** State LISTEN in /proc/net/tcp. */
  private static final String LISTEN = "0A";

  /** Columns of /proc/net/tcp: local address, state, inode of the socket. */
  private static final int LOCAL = 1;

  private static final int STATE = 3;
  private static final int INODE = 9;

  private HostPortOwner() {}

  /**
   * Says in words who listens on a port. Never throws: it only helps to explain another failure.
   */
  static String describe(int port) {
    return describe(Path.of("/proc"), port);
  }

  static String describe(Path proc, int port) {
    Set<String> sockets = new HashSet<>();
    sockets.addAll(listening(proc.resolve("net/tcp"), port));
    sockets.addAll(listening(proc.resolve("net/tcp6"), port));
    if (sockets.isEmpty()) {
      return "no process in this network namespace listens on it now; it may have been there a moment ago";
    }
    return owner(proc, sockets)
        .orElse("a process of another user has it; run `ss -ltnp` as root to see which");
  }

  private static Set<String> listening(Path table, int port) {
    String suffix = ":%04X".formatted(port);
    Set<String> inodes = new HashSet<>();
    for (String line : lines(table)) {
      String[] columns = line.strip().split("\\s+");
      if (columns.length > INODE
          && columns[LOCAL].toUpperCase(Locale.ROOT).endsWith(suffix)
          && columns[STATE].equals(LISTEN)) {
        inodes.add("socket:[" + columns[INODE] + "]");
      }
    }
    return inodes;
  }

  private static Optional<String> owner(Path proc, Set<String> sockets) {
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(proc, "[0-9]*")) {
      for (Path process : processes) {
        if (holds(process, sockets)) {
          return Optional.of(
              "process " + process.getFileName() + " (" + command(process) + ") has it");
        }
      }
    } catch (IOException e) {
      return Optional.empty();
    }
    return Optional.empty();
  }

  private static boolean holds(Path process, Set<String> sockets) {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(process.resolve("fd"))) {
      for (Path file : files) {
        if (sockets.contains(Files.readSymbolicLink(file).toString())) {
          return true;
        }
      }
      return false;
    } catch (IOException | RuntimeException notOursOrGone) {
      return false;
    }
  }

  private static String command(Path process) {
    return lines(process.resolve("cmdline")).stream()
        .findFirst()
        .map(line -> line.replace('\0', ' ').strip())
        // A command line may be very long; its beginning names the program.
        .map(line -> line.length() > 80 ? line.substring(0, 80) + "..." : line)
        .orElse("of unknown name");
  }

  private static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file);
    } catch (IOException e) {
      return List.of();
    }
  }
}
