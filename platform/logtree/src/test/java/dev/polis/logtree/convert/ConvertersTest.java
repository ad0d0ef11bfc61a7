package dev.polis.logtree.convert;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConvertersTest {
  private static final Instant NOW = Instant.parse("2021-03-31T13:00:00Z");

  @ParameterizedTest(name = "LOG-12 klog: {0}")
  @CsvSource(
      delimiter = '|',
      nullValues = "nothing",
      textBlock =
          """
          I0331 12:20:01.123456 123 foo.go:45] all is well | INFO | 2021-03-31T12:20:01.123456Z | foo.go:45 | all is well
          E0331 12:20:01.000000   1 a_b.go:1] bad  things  | ERROR | 2021-03-31T12:20:01Z | a_b.go:1 | bad  things
          W0331 12:20:01 7 foo.go:45] no fraction          | WARNING | 2021-03-31T12:20:01Z | foo.go:45 | no fraction
          F0101 00:00:00.000000 7 foo.go:45] first         | FATAL | 2021-01-01T00:00:00Z | foo.go:45 | first
          I0331 13:05:00.000000 7 foo.go:45] a little ahead | INFO | 2021-03-31T13:05:00Z | foo.go:45 | a little ahead
          D0331 12:20:01.000000 7 foo.go:45] bad severity  | nothing | nothing | nothing | nothing
          I0331 12:61:01.000000 7 foo.go:45] bad time      | nothing | nothing | nothing | nothing
          I1331 12:20:01.000000 7 foo.go:45] bad month     | nothing | nothing | nothing | nothing
          I0229 12:20:01.000000 7 foo.go:45] no leap year  | nothing | nothing | nothing | nothing
          I0401 12:20:01.000000 7 foo.go:45] future        | nothing | nothing | nothing | nothing
          I0331 12:20:01.000000 7 foo.go] no line number   | nothing | nothing | nothing | nothing
          I0331 12:20:01.000000 foo.go:45] no thread       | nothing | nothing | nothing | nothing
          plain text                                       | nothing | nothing | nothing | nothing
          """)
  void log12_klog(String line, Severity severity, Instant time, String location, String message) {
    LineConverter klog = new KlogConverter(InstantSource.fixed(NOW), ZoneOffset.UTC);

    assertConverted(klog.convert(line), severity, time, location, message);
  }

  @Test
  @DisplayName("LOG-12 klog: a line of 31 December read on 1 January is of the previous year")
  void log12_klogYearRollover() {
    assertKlogTime("2021-01-01T00:00:01Z", "I1231 23:59:59", "2020-12-31T23:59:59Z");
    assertKlogTime("2020-12-31T23:59:59Z", "I0101 00:00:01", "2021-01-01T00:00:01Z");
    assertKlogTime("2020-12-31T23:59:59Z", "I1231 00:00:01", "2020-12-31T00:00:01Z");
    assertKlogTime("2024-03-01T00:00:00Z", "I0229 23:00:00", "2024-02-29T23:00:00Z");
  }

  private static void assertKlogTime(String now, String stamp, String expected) {
    LineConverter klog = new KlogConverter(InstantSource.fixed(Instant.parse(now)), ZoneOffset.UTC);

    assertConverted(
        klog.convert(stamp + ".000000 1 foo.go:1] happy new year"),
        Severity.INFO,
        Instant.parse(expected),
        "foo.go:1",
        "happy new year");
  }

  @ParameterizedTest(name = "CON-05 {0}")
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          {"level":"info","ts":"2021-07-06T17:18:24.368Z","caller":"embed/etcd.go:117","msg":"configuring peer listeners","listen-peer-urls":["https://[::]:7834"]} | INFO | 2021-07-06T17:18:24.368Z | etcd.go:117 | configuring peer listeners, listen-peer-urls: ["https://[::]:7834"]
          {"level":"warn","ts":"2024-01-02T03:04:05.000006+0100","caller":"a/b/c.go:9","msg":"m","z":1,"a":"x","b":{"c":null}} | WARNING | 2024-01-02T02:04:05.000006Z | c.go:9 | m, a: x, b: {"c":null}, z: 1
          {"level":"error","ts":1704164645.5,"msg":"epoch"} | ERROR | 2024-01-02T03:04:05.500Z | `` | epoch
          {"level":"fatal","ts":"2024-01-02T03:04:05+01:00","msg":"two\\nlines"} | FATAL | 2024-01-02T02:04:05Z | `` | `two
          lines`
          {"level":"fatal","ts":1704164645.5,"msg":"full","stacktrace":"go.etcd.io/x\\n\\tx.go:1","error":"e"} | FATAL | 2024-01-02T03:04:05.500Z | `` | full, error: e
          {"level":"debug","ts":"yesterday","msg":"bad time"} | INFO | 2021-03-31T13:00:00Z | `` | bad time
          {} | INFO | 2021-03-31T13:00:00Z | `` | ``
          {"level":null,"msg":["odd"],"k":"v"} | INFO | 2021-03-31T13:00:00Z | `` | ["odd"], k: v
          """)
  void con05_etcd(String line, Severity severity, Instant time, String location, String message) {
    LineConverter etcd = new EtcdConverter(InstantSource.fixed(NOW));

    assertConverted(etcd.convert(line), severity, time, location, message);
  }

  @ParameterizedTest(name = "CON-05 unparseable: \"{0}\"")
  @ValueSource(
      strings = {"not json", "", "[]", "1", "null", "{\"level\":", "{} {}", "{level:info}", "{}x"})
  void con05_etcdUnparseable(String line) {
    LineConverter etcd = new EtcdConverter(InstantSource.fixed(NOW));

    assertConverted(etcd.convert(line), Severity.WARNING, NOW, "", "Log line unparseable: " + line);
    assertEquals(
        Severity.WARNING,
        ((LogPayload.Leveled) etcd.convert("[".repeat(100_000)).orElseThrow()).severity());
  }

  @Test
  @DisplayName("the raw converter accepts every line")
  void rawTakesAll() {
    assertEquals(
        Optional.of(LogPayload.Raw.of(" a line ")), LineConverter.raw().convert(" a line "));
  }

  private static void assertConverted(
      Optional<LogPayload> actual,
      Severity severity,
      Instant time,
      String location,
      String message) {
    Optional<LogPayload> expected =
        Optional.ofNullable(severity)
            .map(level -> LogPayload.Leveled.of(level, time, location, message));
    assertEquals(expected, actual);
  }
}
