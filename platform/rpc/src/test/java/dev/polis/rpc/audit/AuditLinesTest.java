package dev.polis.rpc.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.rpc.audit.AuditLines.Line;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads lines of all lengths, in reads of all sizes. */
final class AuditLinesTest {

  /** Returns few bytes for each read, as a file system may. */
  private static final class Slow extends ByteArrayInputStream {
    private final int most;

    Slow(byte[] bytes, int most) {
      super(bytes);
      this.most = most;
    }

    @Override
    public synchronized int read(byte[] into, int offset, int length) {
      return super.read(into, offset, Math.min(length, most));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 1 << 20})
  @DisplayName("each line comes once with its length, wherever a read ends; one too long is empty")
  void lines(int most) throws Exception {
    String longest = "é".repeat(AuditLines.LONGEST / 2);
    String file = "a\n\n" + longest + "\n" + longest + "x\n" + "b".repeat(100_000) + "\nc\nrest";

    assertEquals(
        List.of(
            new Line("a", 2, true),
            new Line("", 1, true),
            new Line(longest, AuditLines.LONGEST + 1, true),
            new Line("", AuditLines.LONGEST + 2, true),
            new Line("", 100_001, true),
            new Line("c", 2, true),
            new Line("rest", 4, false)),
        all(new Slow(file.getBytes(StandardCharsets.UTF_8), most)));
  }

  private static List<Line> all(InputStream in) throws IOException {
    AuditLines lines = new AuditLines(in);
    List<Line> all = new ArrayList<>();
    for (Optional<Line> next = lines.next(); next.isPresent(); next = lines.next()) {
      all.add(next.get());
    }
    return all;
  }
}
