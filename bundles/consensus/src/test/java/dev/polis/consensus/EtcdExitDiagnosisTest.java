package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EtcdExitDiagnosisTest {

  private static final Path DATA = Path.of("/state/data/etcd/data");

  @TempDir Path folder;

  private String words(String... lines) throws IOException {
    return EtcdExitDiagnosis.of(
        Files.writeString(folder.resolve("etcd.log"), String.join("\n", lines) + "\n"), 0, DATA);
  }

  @Test
  void givenALineInJson_thenWhatItSaysAndNotHowItGotThere() throws IOException {
    assertEquals(
        "failed to open database, path /x/db, error timeout, attempt 3",
        words(
            """
            {"level":"info","ts":"2026-01-01","caller":"a.go:1","msg":"starting"}""",
            """
            {"level":"panic","ts":"2026-01-01","caller":"b.go:201","msg":"failed to open database",\
            "path":"/x/db","error":"timeout","attempt":3,"stacktrace":"go.etcd.io"}""",
            """
            {"level":"info","ts":"2026-01-01","caller":"a.go:1","msg":"bye"}""",
            "goroutine 1 [running]:"));
  }

  @Test
  void givenNoLineInJson_thenTheLastAsItIs() throws IOException {
    assertEquals(
        "flag provided but not defined: -x", words("a", "flag provided but not defined: -x"));
    assertEquals("[1]", words("[1]"));
    assertEquals("none", words());
    Path none = folder.resolve("none.log");
    assertTrue(EtcdExitDiagnosis.of(none, 0, DATA).contains(none.toString()));
  }

  @ParameterizedTest
  @CsvSource({"0, true", "63999999, true", "64000000, false"})
  void givenALogThatCannotBeRepaired_thenTheRemedyIsSaidIfThereIsNoRoomForIt(
      long room, boolean said) throws IOException {
    Path log =
        Files.writeString(
            folder.resolve("etcd.log"),
            """
            {"level":"fatal","msg":"failed to repair WAL","error":"unexpected EOF: [wal] max entry size limit exceeded"}
            """);
    String words = EtcdExitDiagnosis.of(log, 0, DATA, () -> room, () -> "ext4");
    assertTrue(words.startsWith("failed to repair WAL, error unexpected EOF"), words);
    assertEquals(said, words.contains("is full: free some space"), words);
  }

  @ParameterizedTest
  @CsvSource({
    "no space left on device, is full: free some space",
    "disk quota exceeded, is full: free some space",
    "read-only file system, is mounted read-only: mount it writable",
  })
  void givenATroubleOfTheDisk_thenTheRemedyIsSaid(String error, String remedy) throws IOException {
    String words =
        words(
            "{\"level\":\"fatal\",\"msg\":\"cannot write\",\"error\":\"write /x: " + error + "\"}");
    assertTrue(words.startsWith("cannot write, error write /x: " + error), words);
    assertTrue(words.contains("; the file system of " + DATA + " " + remedy), words);
  }

  @ParameterizedTest
  @CsvSource({"fuse.gocryptfs, true", "ext4, false"})
  @DisplayName("a read error of an authenticated volume may be a block that was altered")
  void alteredBlock(String type, boolean said) throws IOException {
    Path log =
        Files.writeString(
            folder.resolve("etcd.log"),
            """
            {"level":"fatal","msg":"failed to read WAL","error":"read /x/0.wal: input/output error"}
            """);
    String words = EtcdExitDiagnosis.of(log, 0, DATA, () -> Long.MAX_VALUE, () -> type);
    assertEquals(
        said, words.contains("does not authenticate in the AUTHENTICATED_ENCRYPTED volume"), words);
    assertEquals(said, words.contains("restore " + DATA.getParent()), words);
  }

  @Test
  @DisplayName("a limit of file sizes is named, with what removes it")
  void fileTooLarge() throws IOException {
    String words =
        words(
            "{\"level\":\"fatal\",\"msg\":\"failed to commit tx\",\"error\":\"file resize error: truncate /x/db: file too large\"}");
    assertTrue(words.contains("; a limit of file sizes stops etcd: "), words);
    assertTrue(words.contains("ulimit -f unlimited"), words);
  }

  @Test
  @DisplayName(
      "data older than the member's confirmations: what may have happened, and the way back")
  void olderThanConfirmed() throws IOException {
    String words =
        words(
            "{\"level\":\"panic\",\"msg\":\"tocommit(441) is out of range [lastIndex(337)]. Was the raft log corrupted, truncated, or lost?\",\"logger\":\"raft\"}");
    assertTrue(words.contains("these data are older than what this member has confirmed"), words);
    assertTrue(words.contains("move " + DATA.getParent() + " away and restart the node"), words);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        """
        {"level":"fatal","msg":"discovery failed","error":"walpb: crc mismatch: expected: aaccd82f computed: 5e76b3a0: in file '0.wal' at position: 12080"}""",
        """
        {"level":"panic","msg":"failed to open database","path":"/x/db","error":"invalid database"}""",
        """
        {"level":"panic","msg":"failed to open database","path":"/x/db","error":"file size too small"}""",
        "panic: assertion failed: Page expected to be: 12, but self identifies as 6148914691236517209"
      })
  @DisplayName("for a damaged record or page, the diagnosis quotes etcd and names the remedy")
  void damaged(String line) throws IOException {
    String words = words(line);
    assertTrue(
        words.contains("crc mismatch") || words.contains("atabase") || words.contains("Page"));
    assertTrue(
        words.contains(
            "; a file of etcd is damaged and etcd cannot repair it; nothing was changed: stop the"
                + " node and restore /state/data/etcd as a whole from a copy of this disk"),
        words);
  }

  @Test
  @DisplayName(
      "a log that etcd has cut off at a damaged record is named, with the file that etcd kept")
  void cutOff() throws IOException {
    assertEquals("", EtcdExitDiagnosis.cutOff(folder.resolve("missing")));
    Path wal = Files.createDirectories(folder.resolve("etcd/data/member/wal"));
    assertEquals("", EtcdExitDiagnosis.cutOff(folder.resolve("etcd/data")));

    Path kept = Files.writeString(wal.resolve("0-0.wal.broken"), "");
    String words = EtcdExitDiagnosis.cutOff(folder.resolve("etcd/data"));
    assertTrue(words.contains("has kept the whole log in " + kept), words);
    assertTrue(words.contains("restore " + folder.resolve("etcd") + " as a whole"), words);
  }
}
