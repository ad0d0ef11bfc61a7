package dev.polis.logtree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class LineBufferTest {
  private final List<LogPayload.Raw> lines = new ArrayList<>();
  private final LineBuffer buffer = new LineBuffer(lines::add);

  @Test
  @DisplayName("LOG-14 partial writes are joined")
  void log14_partialWritesAreJoined() throws IOException {
    write("fo");
    write("o\nb");
    buffer.write('a');
    write("r\n\nbaz");

    assertEquals(List.of("foo", "bar", ""), text());
  }

  @Test
  @DisplayName("LOG-14 closing passes the unfinished line on; writing after that fails")
  void log14_close() throws IOException {
    write("foo\nunfinished");
    buffer.close();
    buffer.close();

    assertEquals(List.of("foo", "unfinished"), text());
    assertThrows(IOException.class, () -> write("late"));
    assertThrows(IOException.class, () -> buffer.write('l'));
    assertEquals(2, lines.size());
  }

  @Test
  @DisplayName("LOG-14 a line is cut at 1024 bytes, its length kept, the next one whole")
  void log14_longLineIsCut() throws IOException {
    write("x".repeat(1024) + "\n");
    write("y".repeat(700));
    write("y".repeat(700) + "\nshort\n");

    assertEquals("x".repeat(1024), lines.get(0).toString());
    assertEquals(1400, lines.get(1).originalLength());
    assertEquals("y".repeat(1024), lines.get(1).data());
    assertEquals("y".repeat(1024) + "...", lines.get(1).toString());
    assertEquals("short", lines.get(2).toString());
  }

  @Test
  @DisplayName("LOG-14 a cut does not leave half a character")
  void log14_cutAtCharacter() throws IOException {
    write("x".repeat(1023) + "é\n");
    write("\uD83D\uDE00".repeat(300) + "\n");

    assertEquals("x".repeat(1023), lines.get(0).data());
    assertEquals(1025, lines.get(0).originalLength());
    assertTrue(lines.get(0).cut());
    assertEquals("\uD83D\uDE00".repeat(256), lines.get(1).data());
    assertEquals("é".repeat(512), LogPayload.Raw.of("é".repeat(600)).data());
  }

  @Test
  @DisplayName("a long line is converted whole and then cut; an extremely long one stays raw")
  void longLinesAreConverted() throws IOException {
    List<LogPayload> entries = new ArrayList<>();
    List<Integer> offered = new ArrayList<>();
    LineBuffer converting =
        new LineBuffer(
            line -> {
              offered.add(line.length());
              return line.startsWith("json") ? Optional.of(converted(line)) : Optional.empty();
            },
            entries::add);
    String longest = "json" + "x".repeat(LineBuffer.MAX_CONVERTED_BYTES - 4);

    for (String line : List.of("json", longest, longest + "x", "y".repeat(2000), "short")) {
      converting.write((line + "\n").getBytes(StandardCharsets.UTF_8));
    }

    assertEquals(List.of(4, 65536, 2000, 5), offered);
    assertEquals(converted("json"), entries.get(0));
    assertEquals(converted(longest), entries.get(1));
    assertEquals(65537, ((LogPayload.Raw) entries.get(2)).originalLength());
    assertEquals("json" + "x".repeat(1020) + "...", entries.get(2).toString());
    assertEquals("y".repeat(1024) + "...", entries.get(3).toString());
    assertEquals("short", entries.get(4).toString());
  }

  @Test
  @DisplayName("a line of any length in pieces of any size is the same line (random)")
  void piecesMakeNoDifference() throws IOException {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    List<LogPayload> entries = new ArrayList<>();
    LineBuffer converting = new LineBuffer(line -> Optional.of(converted(line)), entries::add);
    List<LogPayload> expected = new ArrayList<>();
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 200; i++) {
      String line = "line " + "z".repeat(random.nextInt(random.nextBoolean() ? 30 : 5000));
      expected.add(converted(line));
      text.append(line).append('\n');
    }

    byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
    for (int at = 0; at < bytes.length; ) {
      int piece = Math.min(bytes.length - at, random.nextInt(random.nextBoolean() ? 3 : 3000));
      converting.write(bytes, at, piece);
      at += piece;
    }

    assertEquals(expected, entries, () -> "seed " + seed);
  }

  private static LogPayload converted(String line) {
    return LogPayload.Leveled.of(Severity.INFO, Instant.EPOCH, "", line);
  }

  private void write(String text) throws IOException {
    buffer.write(text.getBytes(StandardCharsets.UTF_8));
  }

  private List<String> text() {
    return lines.stream().map(LogPayload.Raw::toString).toList();
  }
}
