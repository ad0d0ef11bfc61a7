package dev.polis.base.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

class BootClockTest {

  @Test
  void theClockIsReadAsTheKernelWritesIt() throws Exception {
    assertEquals(1_406_690, BootClock.millis("1406.69 410.46\n"));
    assertEquals(50, BootClock.millis("0.05 0.00\n"));
    for (String damaged : List.of("", "17", "17.1", "x.00 1.00", ".10 1.00")) {
      IOException refused =
          assertThrows(IOException.class, () -> BootClock.millis(damaged), damaged);
      assertTrue(refused.getMessage().endsWith("found: " + damaged), refused.getMessage());
    }
  }
}
