package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Runs the launcher as a process of its own, and reads its output as it is printed. */
final class LauncherProcess implements AutoCloseable {
  /** Many times the longest time on a busy machine. */
  private static final int SECONDS = 60;

  private static final String END = "\u0000";

  private final Process process;
  private final LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final List<String> seen = new ArrayList<>();

  /** Runs it without a terminal. */
  LauncherProcess(List<String> properties, String... arguments) throws IOException {
    this(Stream.concat(Stream.of("setsid"), command(properties, arguments).stream()).toList());
  }

  private LauncherProcess(List<String> command) throws IOException {
    process = new ProcessBuilder(command).redirectErrorStream(true).start();
    Thread.ofVirtual().start(this::read);
  }

  /** Runs it in a terminal of its own, which is this process and closes with its end. */
  static LauncherProcess inTerminal(List<String> properties, String... arguments)
      throws IOException {
    String words =
        command(properties, arguments).stream()
            .map("'%s'"::formatted)
            .collect(Collectors.joining(" "));
    return new LauncherProcess(List.of("script", "-qefc", "exec " + words, "/dev/null"));
  }

  private static List<String> command(List<String> properties, String... arguments) {
    // A shell's background job, or nohup, would pass on that SIGINT or SIGHUP is ignored.
    List<String> command = new ArrayList<>(List.of("env", "--default-signal=INT,HUP"));
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=deny"));
    command.addAll(properties);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName()));
    command.addAll(List.of(arguments));
    return command;
  }

  /** Waits for a line that contains the text. */
  String await(String text) throws InterruptedException {
    String line = lines.poll(SECONDS, TimeUnit.SECONDS);
    while (line != null && !line.equals(END)) {
      seen.add(line);
      if (line.contains(text)) {
        return line;
      }
      line = lines.poll(SECONDS, TimeUnit.SECONDS);
    }
    return fail("no line with \"" + text + "\" came; there were " + seen);
  }

  /** Waits for the end of the process. */
  int exit() throws InterruptedException {
    String line = lines.poll(SECONDS, TimeUnit.SECONDS);
    while (line != null && !line.equals(END)) {
      seen.add(line);
      line = lines.poll(SECONDS, TimeUnit.SECONDS);
    }
    assertTrue(
        process.waitFor(SECONDS, TimeUnit.SECONDS),
        () -> "the launcher did not end; it said " + seen);
    return process.exitValue();
  }

  /** Returns its output so far. */
  List<String> seen() {
    return seen;
  }

  long pid() {
    return process.pid();
  }

  /** Sends SIGTERM. */
  void terminate() {
    // Process.destroy would close the stream with the output.
    process.toHandle().destroy();
  }

  void signal(String name) throws IOException, InterruptedException {
    new ProcessBuilder("kill", "-" + name, Long.toString(pid())).inheritIO().start().waitFor();
  }

  @Override
  public void close() {
    process.toHandle().destroyForcibly();
  }

  private void read() {
    try (BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      reader.lines().forEach(lines::add);
    } catch (IOException e) {
      lines.add("output lost: " + e);
    }
    lines.add(END);
  }
}
