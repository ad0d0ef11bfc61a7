package dev.polis.node;

import dev.polis.process.KilledProcess;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Finds out that the last process of a node ended by SIGKILL while the kernel ended processes for
 * want of memory. Such a process leaves no word: so it notes the counters of the kernel when it
 * starts, and takes the note away when it ends by itself.
 *
 * <p>The kernel's log, which names the process, is not read: it is not a node's to read everywhere.
 */
final class MemoryKills {
  private static final String MACHINE = "machine";
  private static final String GROUP = "group";
  private static final String LIMIT = "limit";

  /** The files of a control group and their lines, in the two versions of the kernel. */
  private record Version(
      String controller, String kills, String killsLine, String limits, String limitsLine) {}

  private static final List<Version> VERSIONS =
      List.of(
          new Version("memory", "memory.oom_control", "oom_kill", "memory.failcnt", ""),
          new Version("", "memory.events", "oom_kill", "memory.events", "max"));

  private final NodeDirectory directory;
  private final Path system;

  /**
   * @param system the root of the files of the kernel: {@code /}
   */
  MemoryKills(NodeDirectory directory, Path system) {
    this.directory = directory;
    this.system = system;
  }

  /**
   * Makes the crash record of a process that ended without a word while the kernel ended processes,
   * unless there is one, and notes the counters of now.
   *
   * @throws IOException if the state directory can not be read or written
   */
  void begin() throws IOException {
    Map<String, String> now = now();
    Optional<Map<String, String>> then = noted();
    if (then.isPresent() && !Files.exists(directory.crash())) {
      Optional<String> cause = cause(then.get(), now);
      if (cause.isPresent()) {
        Node.keepCrash(
            directory,
            FatalErrorReport.record(
                Instant.now(), "kernel", cause.get(), "Then: " + then.get() + "\nNow: " + now));
      }
    }
    now.put(KilledProcess.PROCESS, Long.toString(ProcessHandle.current().pid()));
    StringBuilder text = new StringBuilder();
    now.forEach((name, value) -> text.append(name).append(' ').append(value).append('\n'));
    Files.writeString(directory.memoryKills(), text, StandardCharsets.US_ASCII);
  }

  /** Takes the note away, since the process ends by itself. */
  void end() throws IOException {
    Files.deleteIfExists(directory.memoryKills());
  }

  private Optional<Map<String, String>> noted() throws IOException {
    try {
      Map<String, String> noted = new LinkedHashMap<>();
      new String(Files.readAllBytes(directory.memoryKills()), StandardCharsets.ISO_8859_1)
          .lines()
          .map(line -> line.split(" ", 2))
          .filter(words -> words.length == 2)
          .forEach(words -> noted.put(words[0], words[1]));
      return Optional.of(noted);
    } catch (NoSuchFileException none) {
      return Optional.empty();
    }
  }

  /** Returns what is known of the end of the last process; empty if the kernel ended none. */
  private static Optional<String> cause(Map<String, String> then, Map<String, String> now) {
    if (!then.getOrDefault(KilledProcess.BOOT, "").equals(now.get(KilledProcess.BOOT))) {
      return Optional.empty(); // The machine has started since, and its counters with it.
    }
    long machine = more(then, now, MACHINE);
    long group = more(then, now, GROUP);
    if (machine <= 0 && group <= 0) {
      return Optional.empty();
    }
    List<String> counts = new ArrayList<>();
    if (machine > 0) {
      counts.add("ended %d of this machine's processes".formatted(machine));
    }
    if (group > 0) {
      counts.add("ended %d processes of the node's control group".formatted(group));
    }
    long limit = more(then, now, LIMIT);
    String reached =
        limit > 0 ? "; the memory limit of that group was reached %d times".formatted(limit) : "";
    return Optional.of(
        "process %s ended by a signal like 9 (SIGKILL), which leaves no word and which polis down did not send; for want of memory the kernel %s meanwhile%s. Give the machine or the group more memory, or the node a smaller heap (polis up --heap); dmesg names what was ended"
            .formatted(
                then.getOrDefault(KilledProcess.PROCESS, "of the last run"),
                String.join(" and ", counts),
                reached));
  }

  private static long more(Map<String, String> then, Map<String, String> now, String name) {
    return number(now, name) - number(then, name);
  }

  private static long number(Map<String, String> counts, String name) {
    String text = counts.getOrDefault(name, "");
    return text.matches("[0-9]{1,18}") ? Long.parseLong(text) : 0;
  }

  private Map<String, String> now() {
    Map<String, String> now = new LinkedHashMap<>();
    lines("proc/sys/kernel/random/boot_id")
        .findFirst()
        .ifPresent(id -> now.put(KilledProcess.BOOT, id));
    value("proc/vmstat", "oom_kill").ifPresent(count -> now.put(MACHINE, count));
    for (Version version : VERSIONS) {
      lines("proc/self/cgroup")
          .map(line -> line.split(":", 3))
          .filter(parts -> parts.length == 3)
          .filter(parts -> List.of(parts[1].split(",")).contains(version.controller()))
          .map(parts -> "sys/fs/cgroup/" + version.controller() + parts[2] + "/")
          .findFirst()
          .ifPresent(
              folder -> {
                value(folder + version.kills(), version.killsLine())
                    .ifPresent(count -> now.putIfAbsent(GROUP, count));
                value(folder + version.limits(), version.limitsLine())
                    .ifPresent(count -> now.putIfAbsent(LIMIT, count));
              });
    }
    return now;
  }

  /** Returns the number behind a name in a file, or the only line of it for an empty name. */
  private Optional<String> value(String file, String name) {
    return lines(file)
        .filter(line -> name.isEmpty() || line.startsWith(name + " "))
        .map(line -> name.isEmpty() ? line.strip() : line.substring(name.length()).strip())
        .findFirst();
  }

  /** A file that is not there says nothing: kernels and containers show different ones. */
  private Stream<String> lines(String file) {
    try {
      return Files.readAllLines(system.resolve(file), StandardCharsets.ISO_8859_1).stream();
    } catch (IOException absent) {
      return Stream.empty();
    }
  }
}
