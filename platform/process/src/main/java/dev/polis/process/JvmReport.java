package dev.polis.process;

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
 * Is the report that a JVM leaves when it gives up, as on a full heap.
 *
 * @param when the time of the report
 * @param text the whole report
 */
public record JvmReport(Instant when, String text) {
  private static final Pattern OUT_OF_MEMORY =
      Pattern.compile("(?m)^#\\s+fatal error: OutOfMemory encountered: (.+)$");
  private static final Pattern LARGEST = Pattern.compile("-Xmx(\\d+)m");
  private static final Pattern WHAT = Pattern.compile("(?m)^#[ \\t]+(\\S.*(?:\\R#[ \\t]+\\S.*)?)$");

  /** The line before the calls of the thread that failed, the innermost first. */
  private static final String JAVA_FRAMES = "\nJava frames:";

  private static final Pattern FRAME =
      Pattern.compile("^[Jj] +(?:\\d+ +(?:c[12] +)?)?([\\w.$]+)\\(");

  /** The packages of the JDK, of the platform and of its libraries. */
  private static final Pattern OURS =
      Pattern.compile(
          "(?:javax?|jdk|sun|com\\.sun|org\\.(?:ietf|w3c|xml)|cel|dev\\.(?:cel|polis)|com\\.google|io\\.(?:etcd|grpc|netty|perfmark|prometheus)|org\\.(?:antlr|apache\\.felix|bouncycastle|osgi|slf4j|threeten)|picocli)\\.");

  /** A report has some thousand lines; one without end is damaged. */
  private static final int LONGEST = 4 << 20;

  /**
   * Reads a report; empty if there is none.
   *
   * @throws IOException if the file cannot be read
   */
  public static Optional<JvmReport> read(Path file) throws IOException {
    try (var in = Files.newInputStream(file)) {
      String text = new String(in.readNBytes(LONGEST), StandardCharsets.UTF_8);
      return Optional.of(new JvmReport(Files.getLastModifiedTime(file).toInstant(), text));
    } catch (NoSuchFileException none) {
      return Optional.empty();
    }
  }

  /** Returns in one line why the JVM gave up. */
  public String cause() {
    Matcher memory = OUT_OF_MEMORY.matcher(text);
    if (memory.find()) {
      if (memory.group(1).contains("native thread")) {
        return "the node could start no thread more; raise the limit of processes and threads, with TasksMax= of the unit, pids.max of its cgroup or ulimit -u, or give the machine more memory (%s)"
            .formatted(memory.group(1));
      }
      String heap = largest().map(mebibytes -> " of at most " + mebibytes + " MiB").orElse("");
      Optional<String> plugin = pluginCall();
      if (plugin.isPresent()) {
        return "the node ran out of memory: its heap%s was full (%s) in the call %s, the code of a plugin; take its role away (polisctl node role remove), or go back to its former version (polisctl plugin rollback, or plugin pin of a pushed one), or give the node a larger heap (polis up --heap)"
            .formatted(heap, memory.group(1), plugin.get());
      }
      return memory.group(1).contains("heap")
          ? "the node ran out of memory: its heap%s was full (%s); give it a larger one (polis up --heap)"
              .formatted(heap, memory.group(1))
          : "the node ran out of memory (%s)".formatted(memory.group(1));
    }
    return "the Java virtual machine gave up: "
        + WHAT.matcher(text)
            .results()
            .map(found -> found.group(1).replaceAll("\\R#\\s+", ", "))
            .filter(line -> !line.startsWith("A fatal error has been detected"))
            .findFirst()
            .orElse("its report does not say why");
  }

  /** Returns the innermost call of the thread that failed which is code of a plugin. */
  private Optional<String> pluginCall() {
    int stack = text.indexOf(JAVA_FRAMES);
    return stack < 0
        ? Optional.empty()
        : text.substring(stack)
            .lines()
            .skip(1)
            .takeWhile(line -> !line.isBlank())
            .flatMap(line -> FRAME.matcher(line).results())
            .map(found -> found.group(1))
            .filter(call -> !OURS.matcher(call).lookingAt())
            .findFirst();
  }

  /** The last option counts. */
  private Optional<String> largest() {
    return LARGEST.matcher(text).results().map(found -> found.group(1)).reduce((_, last) -> last);
  }
}
