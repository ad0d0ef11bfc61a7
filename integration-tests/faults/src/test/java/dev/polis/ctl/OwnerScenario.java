package dev.polis.ctl;

import dev.polis.ctl.session.OwnerKeyFile;
import dev.polis.fixtures.power.PowerScenario;
import dev.polis.pki.RecoveryKey;
import dev.polis.wire.api.NodeParameters;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Makes an owner's keys and moves the recovery key to another disk, with the operator's commands.
 */
final class OwnerScenario implements PowerScenario {

  private final List<byte[]> secrets = new ArrayList<>();

  @Override
  public List<String> apart() {
    return List.of("elsewhere");
  }

  @Override
  public List<Step> steps() {
    return List.of(this::make, this::move);
  }

  private void make(Path root) throws Exception {
    Path owner = root.resolve("state/owner");
    ctl("params", "make", "--owner=" + owner, "--to=" + owner.resolve("parameters.pb"));
    // The first half of the text is the same for all keys.
    String pem = Files.readString(owner.resolve("recovery-key.pem"));
    secrets.add(pem.substring(pem.length() / 2).getBytes(StandardCharsets.US_ASCII));
  }

  private void move(Path root) {
    ctl(
        "--state=" + root.resolve("state"),
        "recovery-key",
        "move",
        root.resolve("elsewhere/recovery-key.pem").toString());
  }

  private static void ctl(String... arguments) {
    StringWriter said = new StringWriter();
    PrintWriter out = new PrintWriter(said, true);
    if (Ctl.run(arguments, out, out) != 0) {
      throw new IllegalStateException(said.toString());
    }
  }

  /**
   * Finds the keys whose public halves the parameters name; without parameters the next attempt
   * uses existing keys.
   */
  @Override
  public String observe(Path root) throws Exception {
    Path owner = root.resolve("state/owner");
    if (Files.notExists(owner.resolve("parameters.pb"))) {
      return "no parameters";
    }
    var parameters =
        NodeParameters.parseFrom(Files.readAllBytes(owner.resolve("parameters.pb")))
            .getClusterBootstrap();
    OwnerKeyFile.read(owner.resolve("owner-key.pem"), "");
    Path beside = owner.resolve("recovery-key.pem");
    Path elsewhere = root.resolve("elsewhere/recovery-key.pem");
    String where =
        Files.notExists(beside)
            ? "elsewhere"
            : Files.readString(beside).startsWith("\0") ? "elsewhere, and zeros" : "beside";
    Path key = where.equals("beside") ? beside : elsewhere;
    if (!Arrays.equals(
        RecoveryKey.publicKey(Files.readString(key)),
        parameters.getRecoveryPublicKey().toByteArray())) {
      throw new IllegalStateException("the recovery key is another");
    }
    return "parameters, and the recovery key is " + where;
  }

  @Override
  public boolean underWay(String observed) {
    return observed.endsWith("elsewhere, and zeros");
  }

  @Override
  public List<byte[]> erased() {
    return secrets;
  }
}
