package dev.polis.logtree;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class SecretTest {
  private static final String PLAIN = "correct horse battery staple";
  private static final byte[] BYTES = PLAIN.getBytes(StandardCharsets.UTF_8);

  private record Credentials(String name, Secret key) {}

  @Test
  @DisplayName("D-05 no secret, key or array of bytes given as argument is in the message")
  void d05_argumentsAreRedacted() throws Exception {
    KeyPair pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
    Secret secret = Secret.of(PLAIN);
    List<Object> hidden =
        List.of(
            secret,
            BYTES,
            ByteBuffer.wrap(BYTES),
            PLAIN.toCharArray(),
            pair,
            pair.getPrivate(),
            new SecretKeySpec(BYTES, "AES"),
            new Credentials("node", secret),
            List.of(secret, BYTES),
            new Object[] {BYTES, new byte[][] {BYTES}},
            Map.of("key", BYTES),
            Optional.of(pair.getPrivate()));
    for (Object argument : hidden) {
      for (String format : List.of("the key is %s", "the key is %60s", "%s %d", "%2$s %1$s")) {
        assertPlainIsAbsent(LogMessage.format(format, argument, argument), pair);
      }
    }
    assertEquals("<secret 28 bytes>", LogMessage.format("%s", secret));
    assertEquals("<28 bytes>", LogMessage.format("%s", (Object) BYTES));
    assertEquals("<28 chars>", LogMessage.format("%s", (Object) PLAIN.toCharArray()));
    assertEquals("<EdDSA key>", LogMessage.format("%s", pair.getPrivate()));
    assertEquals("<EdDSA key pair>", LogMessage.format("%s", pair));
    assertEquals("<AES key>", LogMessage.format("%s", new SecretKeySpec(BYTES, "AES")));
    assertEquals("<buffer of 28>", LogMessage.format("%s", ByteBuffer.wrap(BYTES)));
    assertEquals("[<28 bytes>, 1]", LogMessage.format("%s", List.of(BYTES, 1)));
    assertEquals(pair.getPublic().toString(), LogMessage.format("%s", pair.getPublic()));
  }

  private static void assertPlainIsAbsent(String message, KeyPair pair) {
    byte[] encoded = pair.getPrivate().getEncoded();
    byte[] raw = Arrays.copyOfRange(encoded, encoded.length - 32, encoded.length);
    for (byte[] content : List.of(BYTES, raw)) {
      assertFalse(message.contains(new String(content, StandardCharsets.ISO_8859_1)), message);
      assertFalse(message.contains(HexFormat.of().formatHex(content)), message);
      assertFalse(message.contains(Arrays.toString(content)), message);
    }
  }

  @Test
  @DisplayName("the text of a collection that contains itself ends")
  void cyclesEnd() {
    List<Object> cycle = new ArrayList<>();
    cycle.add(cycle);

    assertEquals("[[[[<...>]]]]", LogMessage.format("%s", cycle));
  }

  @Test
  @DisplayName("a secret reveals its bytes only by reveal(), and none once destroyed")
  void revealAndDestroy() {
    byte[] given = BYTES.clone();
    Secret secret = Secret.take(given);

    assertArrayEquals(new byte[BYTES.length], given);
    assertArrayEquals(BYTES, secret.reveal());
    assertEquals("<secret 28 bytes>", secret.toString());
    assertEquals(28, secret.length());

    secret.destroy();

    assertTrue(secret.isDestroyed());
    assertEquals("<secret destroyed>", secret.toString());
    assertThrows(IllegalStateException.class, secret::reveal);
  }

  @Test
  @DisplayName("secrets are equal by content, with a hash that does not depend on it")
  void equality() {
    Secret destroyed = Secret.of(PLAIN);
    destroyed.close();

    assertEquals(Secret.of(PLAIN), Secret.of(BYTES));
    assertNotEquals(Secret.of(PLAIN), Secret.of(PLAIN + "!"));
    assertNotEquals(Secret.of(new byte[28]), destroyed);
    assertEquals(Secret.of(new byte[28]).hashCode(), Secret.of(BYTES).hashCode());
  }
}
