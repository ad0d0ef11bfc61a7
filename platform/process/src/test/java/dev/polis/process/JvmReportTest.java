package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JvmReportTest {

  @TempDir Path folder;

  private static String cause(String report) {
    return new JvmReport(Instant.EPOCH, report).cause();
  }

  @Test
  @DisplayName("A full heap is reported with its size and the option that sets another")
  void fullHeap() throws Exception {
    Path file = folder.resolve("jvm-error.txt");
    assertEquals(Optional.empty(), JvmReport.read(file));
    Files.writeString(
        file,
        """
        #  fatal error: OutOfMemory encountered: Java heap space
        Command Line: -Xmx96m -Xmx48m
        """);
    assertEquals(
        "the node ran out of memory: its heap of at most 48 MiB was full (Java heap space); give it a larger one (polis up --heap)",
        JvmReport.read(file).orElseThrow().cause());
  }

  @Test
  @DisplayName("For another end of a JVM, the message quotes the beginning of its report")
  void otherEnds() {
    assertEquals(
        "the Java virtual machine gave up: SIGSEGV (0xb) at pc=0x00007f, pid=17, tid=18",
        cause(
            """
            #
            # A fatal error has been detected by the Java Runtime Environment:
            #
            #  SIGSEGV (0xb) at pc=0x00007f, pid=17, tid=18
            #
            # JRE version: 25
            """));
    assertEquals(
        "the node ran out of memory (Metaspace)",
        cause("#  fatal error: OutOfMemory encountered: Metaspace\n"));
    assertEquals("the Java virtual machine gave up: its report does not say why", cause(""));
  }
}
