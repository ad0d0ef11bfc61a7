package dev.polis.node;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Turns the report that a JVM leaves when it gives up, as on a full heap, into a crash record in
 * the operator's words.
 */
final class JvmError {
  private static final Pattern OUT_OF_MEMORY =
      Pattern.compile("(?m)^#\\s+fatal error: OutOfMemory encountered: (.+)$");
  private static final Pattern LARGEST = Pattern.compile("-Xmx(\\d+)m");
  private static final Pattern WHAT = Pattern.compile("(?m)^#[ \\t]+(\\S.*(?:\\R#[ \\t]+\\S.*)?)$");

  /** A report has some thousand lines; one without end is damaged. */
  private static final int LONGEST = 4 << 20;

  private JvmError() {}

  /**
   * Makes the crash record of what the last JVM left, if it left anything, and takes that away.
   *
   * @throws IOException if the state directory can not be read or written
   */
  static void record(NodeDirectory directory) throws IOException {
    Path file = directory.launcher().jvmError().path();
    String report;
    Instant when;
    try (var in = Files.newInputStream(file)) {
      report = new String(in.readNBytes(LONGEST), StandardCharsets.UTF_8);
      when = Files.getLastModifiedTime(file).toInstant();
    } catch (NoSuchFileException none) {
      return;
    }
    Node.keepCrash(directory, FatalErrorReport.record(when, "jvm", cause(report), report));
    Files.delete(file);
  }

  /** Returns in one line why a JVM gave up. */
  static String cause(String report) {
    Matcher memory = OUT_OF_MEMORY.matcher(report);
    if (memory.find()) {
      String heap =
          largest(report).map(mebibytes -> " of at most " + mebibytes + " MiB").orElse("");
      return memory.group(1).contains("heap")
          ? "the node ran out of memory: its heap%s was full (%s); give it a larger one (polis up --heap)"
              .formatted(heap, memory.group(1))
          : "the node ran out of memory (%s)".formatted(memory.group(1));
    }
    return "the Java virtual machine gave up: "
        + WHAT.matcher(report)
            .results()
            .map(found -> found.group(1).replaceAll("\\R#\\s+", ", "))
            .filter(line -> !line.startsWith("A fatal error has been detected"))
            .findFirst()
            .orElse("its report does not say why");
  }

  /** The last option counts. */
  private static Optional<String> largest(String report) {
    return LARGEST.matcher(report).results().map(found -> found.group(1)).reduce((_, last) -> last);
  }
}
