package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EnvelopeTest {

  private final byte[] whole =
      new Envelope("thing", Map.of("sealer", "none"), new byte[] {1, '\n', '\n', 2}).encode();

  @Test
  void whatWasWrittenIsRead() {
    Envelope read = Envelope.decode("thing", whole, "sealer");
    assertEquals("none", read.field("sealer"));
    assertArrayEquals(new byte[] {1, '\n', '\n', 2}, read.payload());
  }

  @Test
  void everyTruncationIsNoticed() {
    for (int length = 0; length < whole.length; length++) {
      byte[] cut = Arrays.copyOf(whole, length);
      assertThrows(
          IllegalArgumentException.class, () -> Envelope.decode("thing", cut), "cut to " + length);
    }
  }

  @Test
  void everyChangedByteIsNoticed() {
    for (int i = 0; i < whole.length; i++) {
      byte[] changed = whole.clone();
      changed[i] ^= 1;
      assertThrows(
          IllegalArgumentException.class, () -> Envelope.decode("thing", changed), "byte " + i);
    }
  }

  @Test
  void anotherKindOrAMissingFieldIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> Envelope.decode("other", whole));
    assertThrows(IllegalArgumentException.class, () -> Envelope.decode("thing", whole, "absent"));
    assertThrows(IllegalArgumentException.class, () -> Envelope.decode("thing", new byte[100_000]));
  }
}
