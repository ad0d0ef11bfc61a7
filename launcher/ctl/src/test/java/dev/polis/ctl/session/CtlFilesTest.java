package dev.polis.ctl.session;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class CtlFilesTest {

  @Test
  @DisplayName("an upload sends all bytes in parts, and ends when the node has ended the call")
  void upload() throws Exception {
    // Two whole parts and a short one.
    byte[] file = new byte[(1 << 20) + 7];
    new Random(1).nextBytes(file);
    ByteArrayOutputStream sent = new ByteArrayOutputStream();
    AtomicInteger parts = new AtomicInteger();
    CtlFiles.upload(
        new ByteArrayInputStream(file),
        part -> {
          sent.writeBytes(part.toByteArray());
          return parts.incrementAndGet() > 0;
        });
    assertArrayEquals(file, sent.toByteArray());
    assertEquals(3, parts.get());

    CtlFiles.upload(new ByteArrayInputStream(file), part -> parts.incrementAndGet() < 5);
    assertEquals(5, parts.get());
  }
}
