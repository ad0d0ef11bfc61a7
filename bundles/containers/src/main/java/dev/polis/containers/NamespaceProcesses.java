package dev.polis.containers;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.Set;
import java.util.TreeSet;

/** Finds processes by their namespaces, and ends processes that are not this node's children. */
final class NamespaceProcesses {

  private static final Path PROC = Path.of("/proc");
  private static final Duration PACE = Duration.ofMillis(20);

  private NamespaceProcesses() {}

  /** Lists processes as they are at the moment of the call. */
  @FunctionalInterface
  interface Listing {
    Set<Long> list() throws IOException;
  }

  /**
   * Returns the id of a namespace of a process, such as {@code mnt:[4026531841]}; empty if gone.
   */
  static String namespace(String process, String kind) {
    try {
      return Files.readSymbolicLink(PROC.resolve(process).resolve("ns").resolve(kind)).toString();
    } catch (IOException gone) {
      return "";
    }
  }

  /** Returns the processes that are in one of these namespaces. */
  static Set<Long> within(Collection<String> namespaces) throws IOException {
    Set<Long> found = new TreeSet<>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(PROC, "[0-9]*")) {
      for (Path process : all) {
        String id = process.getFileName().toString();
        for (String namespace : namespaces) {
          String kind = namespace.substring(0, namespace.indexOf(':'));
          if (namespace(id, kind).equals(namespace)) {
            found.add(Long.valueOf(id));
          }
        }
      }
    }
    return found;
  }

  /**
   * Returns the processes of this mount namespace whose program is this file. The same program may
   * run in the sandbox of another node of this machine.
   */
  static Set<Long> running(Path program) throws IOException {
    Set<Long> found = new TreeSet<>();
    String here = namespace("self", "mnt");
    try (DirectoryStream<Path> all = Files.newDirectoryStream(PROC, "[0-9]*")) {
      for (Path process : all) {
        String id = process.getFileName().toString();
        if (runs(process, program) && namespace(id, "mnt").equals(here)) {
          found.add(Long.valueOf(id));
        }
      }
    }
    return found;
  }

  private static boolean runs(Path process, Path program) {
    try {
      return Files.readSymbolicLink(process.resolve("exe")).equals(program);
    } catch (IOException goneOrOfTheKernel) {
      return false;
    }
  }

  /** Sends SIGTERM to processes, waits for a while, and kills those that are left. */
  static void end(Listing processes, Duration grace, Duration patience)
      throws IOException, InterruptedException {
    for (long process : processes.list()) {
      ProcessHandle.of(process).ifPresent(ProcessHandle::destroy);
    }
    if (!gone(processes, grace)) {
      kill(processes, patience);
    }
  }

  /** Kills processes, also those that come meanwhile; returns when there are none or time is up. */
  static boolean kill(Listing processes, Duration patience)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + patience.toNanos();
    while (true) {
      Set<Long> left = processes.list();
      if (left.isEmpty()) {
        return true;
      }
      for (long process : left) {
        ProcessHandle.of(process).ifPresent(ProcessHandle::destroyForcibly);
      }
      if (System.nanoTime() > end) {
        return false;
      }
      Thread.sleep(PACE);
    }
  }

  private static boolean gone(Listing processes, Duration within)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + within.toNanos();
    while (!processes.list().isEmpty()) {
      if (System.nanoTime() > end) {
        return false;
      }
      Thread.sleep(PACE);
    }
    return true;
  }
}
