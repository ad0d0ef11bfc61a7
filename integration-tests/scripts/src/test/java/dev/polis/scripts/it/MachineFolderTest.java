package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls the functions with which {@code image run} reads the folder of a virtual machine. */
class MachineFolderTest {

  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir Path machine;

  @BeforeEach
  void firmware() throws IOException {
    for (String code : List.of("OVMF_CODE_4M.fd", "OVMF_CODE_4M.secboot.fd", "OVMF_VARS_4M.fd")) {
      Files.writeString(machine.resolve(code), "a firmware");
    }
  }

  /** Prints QEMU's arguments for the firmware. */
  private Finished run(String secureBoot) throws Exception {
    String script =
        """
        set -euo pipefail
        source %1$s/launcher/script/words.sh
        source <(sed 's|/usr/share/OVMF|%2$s|' %1$s/launcher/script/image.sh)
        image_secure_boot %2$s '%3$s'
        image_firmware %2$s "$(cat %2$s/secure-boot)"
        printf '%%s\\n' "${FIRMWARE[@]}"
        """
            .formatted(ScriptFolder.REPOSITORY, machine, secureBoot);
    return Finished.of(List.of("bash", "-c", script), Map.of(), PATIENCE);
  }

  private String arguments(String secureBoot) throws Exception {
    return run(secureBoot).requireSuccess("the firmware of the machine").out();
  }

  /** Prints the wish with which {@code image run} starts a machine. */
  private Finished wish(String options) throws Exception {
    String script =
        """
        set -euo pipefail
        source %1$s/launcher/script/words.sh
        source %1$s/launcher/script/image.sh
        POLIS_CACHE=/nonexistent
        image_run() { echo "wish: $IMAGE_SECURE_BOOT"; }
        command_image run %2$s
        """
            .formatted(ScriptFolder.REPOSITORY, options);
    return Finished.of(List.of("bash", "-c", script), Map.of(), PATIENCE);
  }

  @Test
  @DisplayName("the option may be left out, and takes on or off alone")
  void option() throws Exception {
    assertEquals("wish: \n", wish("").out());
    assertEquals("wish: on\n", wish("--secure-boot on").out());
    assertEquals(2, wish("--secure-boot yes").code());
  }

  @Test
  @DisplayName("a machine that was made with Secure Boot keeps it, and another wish is refused")
  void secureBoot() throws Exception {
    assertTrue(arguments("on").contains("smm=on"));
    assertTrue(arguments("").contains("smm=on"), "without the option");
    assertTrue(arguments("on").contains("smm=on"));
    Finished refused = run("off");
    assertEquals(3, refused.code());
    assertTrue(refused.err().contains("was made with --secure-boot on, not off"), refused.err());
    assertTrue(arguments("").contains("smm=on"), "the refusal changes nothing");
  }

  @Test
  @DisplayName(
      "a machine without a wish has no Secure Boot, and ends at a reboot in each of its runs")
  void withoutSecureBoot() throws Exception {
    for (int run = 0; run < 2; run++) {
      String arguments = arguments("");
      assertTrue(arguments.contains("smm=off") && arguments.contains("-no-reboot"), arguments);
    }
  }

  @Test
  @DisplayName("a firmware restarts by itself until it has keys, also after a run that was cut off")
  void restartsUntilKeys() throws Exception {
    for (int run = 0; run < 2; run++) {
      String arguments = arguments("on");
      assertFalse(arguments.contains("-no-reboot"), arguments);
    }
    Files.writeString(machine.resolve("vars.fd"), "PK\0of the owner", StandardCharsets.UTF_16LE);
    assertTrue(arguments("on").contains("-no-reboot"));
  }
}
