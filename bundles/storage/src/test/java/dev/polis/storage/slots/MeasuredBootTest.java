package dev.polis.storage.slots;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.polis.fixtures.BootFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MeasuredBootTest {

  private static final List<Integer> PCRS = List.of(4, 7, 11, 12);

  /** The log of OVMF, systemd-boot and systemd's stub in QEMU, as Linux gives it. */
  private static MeasuredBoot real() throws Exception {
    return MeasuredBoot.read(
        Path.of(MeasuredBootTest.class.getResource("ovmf-measurements.bin").toURI()));
  }

  @Test
  @DisplayName("the log of a real boot leads to the PCRs that its TPM had")
  void realLog() throws Exception {
    assertEquals(
        "c0660d0b9b5cfcee58036b952b619076658525bafc246ae321c67f02ebb3bad3"
            + "65caf8dd1e0ea7a6347b635d2b379c93b9a1351edc2afc3ecda700e534eb3068"
            + "8be9ee8dec109f480d4ef5428183506dd34f99bc7033a2cb54e06f95b502e593"
            + "f4e7dba66b1adfa0fe4b78e2f5500bf47d1d783d7a8a2ac2d5f8a00bf2237c99",
        HexFormat.of().formatHex(real().pcrs(PCRS)));
  }

  @Test
  @DisplayName("a boot file that was not booted, one with other parts, and no log are refused")
  void refused(@TempDir Path folder) throws Exception {
    Path one = Files.write(folder.resolve("one"), BootFiles.of('a', "1"));
    Path kernel = Files.write(folder.resolve("kernel"), BootFiles.program(Map.of()));
    try (BootFile first = BootFile.read(one);
        BootFile other = BootFile.read(kernel)) {
      MeasuredBoot boot = real();
      assertThrows(IOException.class, () -> boot.pcrs(PCRS, first, first));
      assertThrows(IOException.class, () -> boot.pcrs(PCRS, first, other));
    }
    assertThrows(IOException.class, () -> MeasuredBoot.read(one));
    Path text = Files.writeString(folder.resolve("text"), "no log");
    assertThrows(IOException.class, () -> MeasuredBoot.read(text));
    assertThrows(IOException.class, () -> BootFile.read(text));
  }
}
