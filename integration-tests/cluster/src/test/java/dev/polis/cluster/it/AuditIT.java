package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads the audit log of a real node. */
@Tag("full")
class AuditIT {
  private static final String ADDRESS = "127.0.71.1";
  private static final String LABEL = "audited";

  @TempDir Path directory;
  private int written;

  @Test
  @Tag("attack")
  @DisplayName(
      "changes are in the audit log across swaps of organs, a kill with a torn last record, and a restart of the process")
  void noChangeIsLost() throws Exception {
    try (TestNode node = TestNode.member(directory.resolve("n"), ADDRESS)) {
      node.up("--set", "dev.polis.plugins.healthy.ms=500");
      try (OwnerApi owner = OwnerApi.of(node)) {
        change(node, owner);
        PackedPlugins plugins = PackedPlugins.of(node, directory.resolve("plugins"));
        for (String organ : List.of("storage", "management", "curator")) {
          Finished swap =
              node.ctl("plugin", "swap", plugins.version("dev.polis." + organ, "0.3.1").toString());
          assertEquals(0, swap.code(), swap::all);
          change(node, owner);
        }
      }
      node.killJvm();
      tear(newest(node));
      node.start("--set", "dev.polis.plugins.healthy.ms=500");
      node.awaitHome();
      try (OwnerApi owner = OwnerApi.of(node)) {
        change(node, owner);
        Finished restart = node.ctl("node", "restart", "--runtime");
        assertEquals(0, restart.code(), restart::all);
      }
      try (OwnerApi owner = OwnerApi.of(node)) {
        change(node, owner);
      }
      checkScreens(node);
      forge(newest(node));
      Finished broken = node.ctl("audit", "verify");
      assertEquals(5, broken.code(), broken::all);
      assertTrue(broken.err().contains("line 2"), broken::all);
    }
  }

  private void change(TestNode node, OwnerApi owner) throws Exception {
    String id = node.id();
    for (int i = 0; i < 20; i++) {
      written++;
      owner.label(id, LABEL, "n" + written);
      assertTrue(all(node).contains("n" + written + "\""), "change " + written + " is not there");
    }
  }

  private static String all(TestNode node) throws IOException {
    StringBuilder all = new StringBuilder();
    for (Path file : files(node)) {
      all.append(Files.readString(file));
    }
    return all.toString();
  }

  private static List<Path> files(TestNode node) throws IOException {
    try (Stream<Path> files = Files.list(node.state().resolve("data/audit"))) {
      return files.sorted().toList();
    }
  }

  private static Path newest(TestNode node) throws IOException {
    return files(node).getLast();
  }

  /** Leaves a partial record at the end, like an append that a loss of power interrupts. */
  private static void tear(Path file) throws IOException {
    String last = Files.readAllLines(file).getLast();
    Files.writeString(file, last.substring(0, last.length() / 2), StandardOpenOption.APPEND);
  }

  /** Changes one byte of the second record. */
  private static void forge(Path file) throws IOException {
    int first = Files.readString(file).indexOf('\n');
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.wrap(new byte[] {'0', '0', '0', '0'}), first + 1);
    }
  }

  private void checkScreens(TestNode node) throws Exception {
    Finished verify = node.ctl("audit", "verify");
    assertEquals(0, verify.code(), verify::all);
    Finished shown = node.ctl("audit");
    assertEquals(0, shown.code(), shown::all);
    List<String> begun =
        shown
            .out()
            .lines()
            .filter(line -> line.contains(" BEGIN ") && line.contains(LABEL))
            .toList();
    List<String> expected = new ArrayList<>();
    for (int n = 1; n <= written; n++) {
      int number = n;
      assertEquals(
          1,
          begun.stream().filter(line -> line.contains("\"n" + number + "\"")).count(),
          "records of change " + n);
      expected.add("n" + n);
    }
    assertEquals(expected.size(), begun.size());
    assertTrue(shown.out().contains("unconfirmed bytes"), shown::all);
    assertTrue(shown.out().contains("user \"owner\""), shown::all);
    assertEquals(
        3, node.ctl("audit", "--last", "3").out().lines().count(), "the last three records");
  }
}
