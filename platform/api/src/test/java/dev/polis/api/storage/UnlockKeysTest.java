package dev.polis.api.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.files.FileException;
import dev.polis.logtree.Secret;
import java.security.SecureRandom;
import java.util.HexFormat;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class UnlockKeysTest {

  @Test
  void generatedHalvesAreValidAndDiffer() throws Exception {
    UnlockKeys keys = UnlockKeys.generate(new SecureRandom());
    keys.validate();
    assertNotEquals(keys.node(), keys.cluster());
  }

  @Test
  @DisplayName("STO-04 a half with a wrong length is refused")
  void sto04_length() {
    Secret good = Secret.of(new byte[32]);
    for (int length : new int[] {0, 16, 31, 33, 64}) {
      Secret bad = Secret.of(new byte[length]);
      for (UnlockKeys keys :
          new UnlockKeys[] {new UnlockKeys(good, bad), new UnlockKeys(bad, good)}) {
        FileException refusal = assertThrows(FileException.class, keys::validate);
        assertEquals(Refusal.BAD_KEY, ((StorageException) refusal).refusal());
      }
    }
  }

  @Test
  void equalHalvesWouldMakeAKeyOfZeros() {
    Secret half = Secret.of(new byte[32]);
    assertThrows(FileException.class, () -> new UnlockKeys(half, half).validate());
  }

  @Test
  void printingShowsNoKey() {
    UnlockKeys keys = UnlockKeys.generate(new SecureRandom());
    assertFalse(keys.toString().contains(HexFormat.of().formatHex(keys.node().reveal())));
  }
}
