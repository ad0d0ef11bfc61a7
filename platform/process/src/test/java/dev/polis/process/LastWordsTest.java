package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LastWordsTest {

  private static final String TRACE =
      """

      goroutine 1 [running]:
      main.main()
      \t/src/main.go:7 +0x1d4
      """;

  @TempDir private Path folder;

  private String words(String log) throws Exception {
    return words(log, 0);
  }

  private String words(String log, long from) throws Exception {
    return LastWords.of(Files.writeString(folder.resolve("x.log"), log), from);
  }

  @Test
  @DisplayName("the line with the reason of a program's end is found among its last ones")
  void lastError() throws Exception {
    assertEquals(
        "command failed: failed to listen on 10.0.0.7:6443",
        words(
            """
            I1122 14:00:00.000000       7 server.go:1] starting
            E1122 14:00:01.000000       7 run.go:72] "command failed" err="failed to listen on 10.0.0.7:6443"
            I1122 14:00:02.000000       7 server.go:1] bye
            """));
    assertEquals("Error: unknown flag: --port", words("Error: unknown flag: --port\nUsage:\n"));
    assertEquals(
        "[ERROR] plugin/errors: no",
        words("[INFO] plugin/ready\n[ERROR] plugin/errors: no\n[INFO] bye\n"));
    assertEquals("cannot open shared object file", words("a\ncannot open shared object file\n"));
    assertEquals("it has logged nothing", words(""));
    Path none = folder.resolve("none.log");
    assertTrue(LastWords.of(none, 0).contains(none.toString()));
  }

  @Test
  @DisplayName("an error is quoted without the form of its log and without types of Go")
  void plain() throws Exception {
    assertEquals(
        "command failed: error loading config file \"/c\": cannot unmarshal string into what is expected there",
        words(
            """
            E1122 14:00:01.000000       7 run.go:72] "command failed" err="error loading config file \\"/c\\": cannot unmarshal string into Go value of type struct { A string \\"json:\\\\\\"a\\\\\\"\\"; B string }"
            """));
    assertEquals(
        "failed to load plugin: open /r: read-only file system",
        words(
            "time=\"2026\" level=error msg=\"failed to load plugin\" error=\"open /r: read-only file system\" id=x\n"));
    assertEquals("[FATAL] plugin \"x\"", words("[FATAL] plugin \"x\"\n"));
  }

  @Test
  @DisplayName("of a crash only the first line is quoted, without the stack trace")
  void crash() throws Exception {
    String long_ = "\tmain.go:7 +0x1d4\n".repeat(5000);
    assertEquals(
        "panic: runtime error: index out of range [3] with length 3",
        words("starting\npanic: runtime error: index out of range [3] with length 3\n" + TRACE));
    assertEquals(
        "fatal error: all goroutines are asleep - deadlock!",
        words("fatal error: all goroutines are asleep - deadlock!\n" + TRACE + long_));
    assertEquals(
        "panic: first [recovered]",
        words("panic: first [recovered]\n\tpanic: second\n[signal SIGSEGV]\n" + TRACE));
    assertEquals(
        "leaderelection lost",
        words("F1122 14:00:01.000000       7 run.go:72] leaderelection lost\n" + TRACE));
    String fatal = "time=\"2026-01-01\" level=fatal msg=\"no config\"";
    assertEquals("no config", words("level=info msg=hello\n" + fatal + "\nlevel=info msg=bye\n"));
    String zap = "{\"level\":\"panic\",\"msg\":\"failed to recover v3 backend\"}";
    assertEquals(zap, words(zap + "\npanic: failed to recover v3 backend\n" + TRACE));
    String earlier = "{\"level\":\"fatal\",\"msg\":\"of an earlier run\"}\n";
    assertEquals("panic: now", words(earlier + "starting\npanic: now\n" + TRACE));
  }

  @Test
  @DisplayName("a line of an earlier run is not the reason of this one's end")
  void lastErrorOfThisRun() throws Exception {
    String earlier = "E1122 14:00:01.000000       7 run.go:72] an error of yesterday\n";
    assertEquals("no such file", words(earlier + "no such file\n", earlier.length()));
    assertEquals("it has logged nothing", words(earlier, earlier.length()));
    assertEquals("truncated since", words("truncated since\n", earlier.length()));
  }
}
