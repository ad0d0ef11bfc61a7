package dev.polis.kubernetes.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AuditCursorTest {

  @TempDir Path folder;
  private AuditFiles files;
  private int rotations;

  @BeforeEach
  void empty() {
    files = new AuditFiles(folder);
  }

  private void write(String text) throws IOException {
    Files.writeString(files.current(), text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  private void write(int from, int to) throws IOException {
    for (int number = from; number <= to; number++) {
      write(number + "\n");
    }
  }

  /** Gives a full file its other name, as the API server does. */
  private Path rotate() throws IOException {
    rotations++;
    return Files.move(
        files.current(),
        folder.resolve("audit-2026-11-24T10-41-%02d.000.log".formatted(rotations)));
  }

  private static List<String> texts(AuditCursor cursor) throws IOException {
    List<String> texts = new ArrayList<>();
    for (var next = cursor.next(); !next.isEmpty(); next = cursor.next()) {
      next.forEach(each -> texts.add(each.text()));
    }
    return texts;
  }

  private static List<String> numbers(int from, int to) {
    return IntStream.rangeClosed(from, to).mapToObj(Integer::toString).toList();
  }

  private AuditCursor oldest() {
    return new AuditCursor(files, AuditPlace.OLDEST);
  }

  @Test
  @DisplayName("each record is read once, in order, while full files are renamed")
  void acrossFiles() throws Exception {
    write(1, 5);
    AuditCursor cursor = oldest();
    assertEquals(numbers(1, 5), texts(cursor));
    write(6, 7);
    rotate();
    write(8, 9);
    rotate();
    write(10, 12);
    assertEquals(numbers(6, 12), texts(cursor));
    rotate();
    assertEquals(List.of(), texts(cursor));
    write(13, 13);
    assertEquals(numbers(13, 13), texts(cursor));
    assertEquals(numbers(1, 13), texts(oldest()));
  }

  @Test
  @DisplayName("a reader continues at its place, also after the file was renamed")
  void place() throws Exception {
    write(1, 5);
    AuditCursor first = oldest();
    texts(first);
    String place = first.place().toString();
    write(6, 6);
    rotate();
    write(7, 7);
    assertEquals(numbers(6, 7), texts(new AuditCursor(files, AuditPlace.parse(place))));
    assertThrows(IllegalArgumentException.class, () -> AuditPlace.parse("here"));
    assertEquals(AuditPlace.OLDEST, AuditPlace.parse(""));
  }

  @Test
  @DisplayName("a reader whose place was deleted continues with the oldest record that is kept")
  void deleted() throws Exception {
    write(1, 5);
    AuditCursor cursor = oldest();
    texts(cursor);
    Path first = rotate();
    write(6, 8);
    rotate();
    write(9, 9);
    Files.delete(first);
    assertEquals(numbers(6, 9), texts(cursor));
  }

  @Test
  @DisplayName("a place whose inode belongs to another file now counts as deleted")
  void reused() throws Exception {
    write("a long record\nanother\n");
    AuditPlace middle = new AuditPlace(files.all().getFirst().inode(), 5);
    assertEquals(List.of("a long record", "another"), texts(new AuditCursor(files, middle)));
    AuditPlace beyond = new AuditPlace(middle.inode(), 5_000);
    assertEquals(List.of("a long record", "another"), texts(new AuditCursor(files, beyond)));
  }

  @Test
  @DisplayName("an unfinished record is read once it is whole")
  void unfinished() throws Exception {
    write("1\n2");
    AuditCursor cursor = oldest();
    assertEquals(List.of("1"), texts(cursor));
    write("2\n");
    assertEquals(List.of("22"), texts(cursor));
  }

  @Test
  @DisplayName(
      "a record that a killed API server left unfinished is shown, without a wait for the rest")
  void torn() throws Exception {
    write("1\n2");
    rotate();
    write("3\n");
    assertEquals(List.of("1", "2", "3"), texts(oldest()));
  }

  @Test
  @DisplayName(
      "a long record is cut and shows the number of omitted bytes; then the next record follows")
  void longRecord() throws Exception {
    int length = AuditFiles.LONGEST;
    write("x".repeat(length) + "\nnext\n");
    AuditCursor cursor = oldest();
    List<AuditCursor.Record> records = cursor.next();
    assertEquals(AuditCursor.SHOWN, records.getFirst().text().length());
    assertEquals(length - AuditCursor.SHOWN, records.getFirst().cut());
    assertEquals(List.of("next"), texts(cursor));
  }

  @Test
  @DisplayName("records are returned in parts within a client's limit")
  void parts() throws Exception {
    String record = "y".repeat(100_000);
    write((record + "\n").repeat(50));
    AuditCursor cursor = oldest();
    int sum = 0;
    for (var next = cursor.next(); !next.isEmpty(); next = cursor.next()) {
      sum += next.size();
      int bytes = next.stream().mapToInt(each -> each.text().length()).sum();
      assertTrue(bytes < 2 << 20, bytes + " bytes at once");
    }
    assertEquals(50, sum);
  }

  @Test
  @Tag("attack")
  @DisplayName("a link in the place of a log is not followed, and is named")
  void link() throws Exception {
    Path other = Files.writeString(folder.resolve("other"), "{}\n");
    Files.createSymbolicLink(files.current(), other);

    IOException refused = assertThrows(IOException.class, () -> oldest().next());

    assertTrue(
        refused.getMessage().startsWith(files.current() + " is not a file"), refused::getMessage);
  }

  @Test
  @DisplayName("the newest records are found, in one file and across several")
  void last() throws Exception {
    write(1, 5);
    rotate();
    write(6, 8);
    for (int count : new int[] {1, 3, 4, 8}) {
      assertEquals(
          numbers(9 - count, 8), texts(new AuditCursor(files, files.last(count))), count + "");
    }
    assertEquals(numbers(1, 8), texts(new AuditCursor(files, files.last(100))));
  }
}
