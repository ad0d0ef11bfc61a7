package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
  @DisplayName("A heap that the code of a plugin filled is reported with the call and the remedy")
  void heapOfAPlugin() {
    String cause =
        cause(
            """
            #  fatal error: OutOfMemory encountered: Java heap space
            Command Line: -Xmx96m
            j  com.example.early.Other.call()V+5
            Java frames: (J=compiled Java code, j=interpreted, Vv=VM code)
            J 812 c1 java.util.ArrayList.grow(I)[Ljava/lang/Object; java.base@25 (8 bytes) @ 0x0 [0x0+0x0]
            j  io.etcd.jetcd.api.RangeResponse.parseFrom([B)V+5
            J 813 c1 com.google.gson.Gson.toJson(Ljava/lang/Object;)V (8 bytes) @ 0x0 [0x0+0x0]
            j  com.acme.hog.Hog$Inner.fill()V+5
            j  com.acme.hog.HogRole.run(Ldev/polis/supervision/Context;)V+7
            j  dev.polis.supervision.Run.body()V+1

            """);
    assertTrue(
        cause.contains(
            "was full (Java heap space) in the call com.acme.hog.Hog$Inner.fill, the code of a plugin; take its role away"),
        cause);
  }

  @Test
  @DisplayName("A limit of threads is reported as such, and not as memory")
  void noThread() {
    String cause =
        cause(
            "#  fatal error: OutOfMemory encountered: unable to create native thread: possibly out of memory or process/resource limits reached\n");
    assertTrue(
        cause.startsWith(
            "the node could start no thread more; raise the limit of processes and threads, with TasksMax="),
        cause);
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
