package dev.polis.node.options;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class RecoveryKeyInputTest {
  @Test
  void aKeyIsReadOnceAndErasedWhileItIsRead() throws Exception {
    byte[] text = "-----BEGIN PRIVATE KEY-----".getBytes(StandardCharsets.US_ASCII);
    byte[] expected = text.clone();
    RecoveryKeyInput input = new RecoveryKeyInput(text);
    assertArrayEquals(expected, input.readAllBytes());
    assertEquals(-1, input.read(), "it was read already");
    assertArrayEquals(new byte[text.length], text, "the key is still in memory");
  }

  @Test
  void aKeyThatNobodyReadIsErased() {
    byte[] text = "-----BEGIN PRIVATE KEY-----".getBytes(StandardCharsets.US_ASCII);
    RecoveryKeyInput input = new RecoveryKeyInput(text);
    input.wipe();
    assertEquals(-1, input.read());
    assertArrayEquals(new byte[text.length], text, "the key is still in memory");
  }
}
