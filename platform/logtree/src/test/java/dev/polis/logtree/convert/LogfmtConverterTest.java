package dev.polis.logtree.convert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Converts lines of containerd into entries with level, time and message. */
class LogfmtConverterTest {

  private static final Instant NOW = Instant.parse("2026-03-04T05:06:07Z");
  private final LogfmtConverter converter = new LogfmtConverter(() -> NOW);

  private LogPayload.Leveled convert(String line) {
    return (LogPayload.Leveled) converter.convert(line).orElseThrow();
  }

  @Test
  @DisplayName("level, time and message go to their fields, and other pairs follow the message")
  void line() {
    LogPayload.Leveled entry =
        convert(
            "time=\"2026-01-02T15:04:05.123456789Z\" level=warning msg=\"cannot \\\"load\\\" it\""
                + " error=\"no such file\" id=io.containerd.x type=y");
    assertEquals(Severity.WARNING, entry.severity());
    assertEquals(Instant.parse("2026-01-02T15:04:05.123456789Z"), entry.timestamp());
    assertEquals(
        "cannot \"load\" it, error: no such file, id: io.containerd.x, type: y", entry.message());
  }

  @Test
  @DisplayName("a line without a time gets the current one")
  void noTime() {
    LogPayload.Leveled entry = convert("level=fatal msg=ended");
    assertEquals(NOW, entry.timestamp());
    assertEquals(Severity.FATAL, entry.severity());
    assertEquals("ended", entry.message());
  }

  @Test
  @DisplayName("a value of many thousand characters is read, also on the small stack of a task")
  void longValue() throws Exception {
    String line = "level=info msg=\"" + "{\\\"key\\\":1}".repeat(5000) + "\" id=7";
    AtomicReference<String> message = new AtomicReference<>("");
    Thread task = Thread.ofVirtual().start(() -> message.set(convert(line).message()));
    task.join();
    assertTrue(message.get().startsWith("{\"key\":1}{"), message.get());
  }

  @Test
  @DisplayName("a line that was cut off keeps its remaining text")
  void cutOff() {
    assertEquals("\"half a mess", convert("level=info msg=\"half a mess").message());
  }

  @Test
  @DisplayName("a line in another format is left to the caller")
  void others() {
    assertEquals(Optional.empty(), converter.convert("panic: runtime error"));
    assertEquals(Optional.empty(), converter.convert("goroutine 1 [running]: level=x"));
    assertEquals(Optional.empty(), converter.convert("key=value"));
    assertEquals(Optional.empty(), converter.convert(""));
  }
}
