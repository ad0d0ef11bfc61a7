package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.ByteString;
import com.google.protobuf.TextFormat;
import dev.polis.wire.sealed.SealedConfiguration;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class SecretsTest {

  /** A fixed seed, so that a failure is reproducible. */
  private static final long SEED = 7;

  private static byte[] key() {
    byte[] key = new byte[32];
    new Random(SEED).nextBytes(key);
    return key;
  }

  private static void assertFound(String form, String text) {
    List<String> found = new Secrets().add("the key", key()).foundIn("log: " + text + " end");
    assertFalse(found.isEmpty(), form + " was not found in " + text);
  }

  @Test
  @DisplayName("a key is found in every form in which a log could hold it")
  void everyForm() {
    byte[] key = key();
    assertFound("hex", HexFormat.of().formatHex(key));
    assertFound("hex with colons", HexFormat.ofDelimiter(":").formatHex(key));
    assertFound("base64", Base64.getEncoder().encodeToString(key));
    assertFound("base64 for addresses", Base64.getUrlEncoder().encodeToString(key));
    assertFound("a list of bytes", Arrays.toString(key));
    assertFound("raw", new String(key, StandardCharsets.UTF_8));
    assertFound(
        "text of protobuf",
        TextFormat.printer()
            .printToString(
                SealedConfiguration.newBuilder()
                    .setNodeUnlockKey(ByteString.copyFrom(key))
                    .build()));
  }

  @Test
  @DisplayName("a key inside a longer message is found in base64 at every offset")
  void insideBase64() {
    for (int before = 0; before < 6; before++) {
      byte[] message = new byte[before + 32 + 5];
      Arrays.fill(message, (byte) 0x77);
      System.arraycopy(key(), 0, message, before, 32);
      assertFound(before + " bytes before it", Base64.getEncoder().encodeToString(message));
    }
  }

  @Test
  @DisplayName("a key is found when a line kept only its beginning")
  void cut() {
    assertFound("cut", HexFormat.of().formatHex(key()).substring(0, 40));
  }

  @Test
  @DisplayName("another key is not found, and an empty secret is an error")
  void others() {
    byte[] other = key();
    new Random(SEED + 1).nextBytes(other);
    assertEquals(
        List.of(), new Secrets().add("the key", key()).foundIn(HexFormat.of().formatHex(other)));
    assertThrows(AssertionError.class, () -> new Secrets().add("nothing", new byte[0]));
  }
}
