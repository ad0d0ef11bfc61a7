package dev.polis.ctl.node;

import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.AllowedImage;
import dev.polis.wire.cluster.AttestationPolicy;
import dev.polis.wire.cluster.AttestedMachine;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/** Says what a machine has proved by its TPM. */
final class AttestedLines {

  /** The PCR of the programs that the firmware starts. */
  private static final int PROGRAMS = 4;

  /** The PCR of Secure Boot. */
  private static final int SECURE_BOOT = 7;

  /** The PCR of the options that a boot loader gives to the boot file. */
  private static final int OPTIONS = 12;

  private AttestedLines() {}

  /** Returns all of it; empty if the node has proved nothing. */
  static Optional<JsonObject> json(Node node) {
    if (!node.hasAttestation()) {
      return Optional.empty();
    }
    AttestedMachine machine = node.getAttestation();
    JsonObject json = new JsonObject();
    json.add("programs", Rows.element(hex(machine.getProgramsList())));
    json.addProperty("secureBoot", WireName.shortened(machine.getSecureBoot()));
    json.add("options", Rows.element(hex(machine.getOptionsList())));
    json.add("changedPcrs", Rows.element(machine.getChangedPcrsList()));
    json.add("unexplainedPcrs", Rows.element(machine.getUnexplainedPcrsList()));
    json.addProperty("endorsementKey", hex(machine.getEndorsementKey()));
    json.addProperty("tpm", machine.getTpm());
    json.addProperty("tpmIssuer", machine.getTpmIssuer());
    return Optional.of(json);
  }

  /**
   * Returns what an approver reads.
   *
   * @param policy names the images
   */
  static List<String> of(Node node, AttestationPolicy policy) {
    if (!node.hasAttestation()) {
      return List.of("machine: no evidence of a TPM");
    }
    AttestedMachine machine = node.getAttestation();
    List<String> lines = new ArrayList<>();
    List<Integer> unexplained = new ArrayList<>(machine.getUnexplainedPcrsList());
    String booted =
        unexplained.remove((Integer) PROGRAMS)
            ? "booted what its firmware's log does not have (PCR 4: not measured)"
            : "booted %s (PCR 4: %s)"
                .formatted(
                    image(machine, policy)
                        .map(image -> "image " + image.getName())
                        .orElse("an image that the cluster does not name"),
                    String.join(" ", hex(machine.getProgramsList())));
    lines.add(
        "machine: %s, Secure Boot %s"
            .formatted(
                booted,
                unexplained.remove((Integer) SECURE_BOOT)
                    ? "unknown (PCR 7: not measured)"
                    : switch (machine.getSecureBoot()) {
                      case SECURE_BOOT_ON -> "on";
                      case SECURE_BOOT_OFF -> "off";
                      case SECURE_BOOT_UNKNOWN, UNRECOGNIZED -> "unknown";
                    }));
    lines.add(
        "TPM: %s; endorsement key SHA-256 %s"
            .formatted(
                machine.getTpmIssuer().isEmpty()
                    ? ("without a usable certificate " + machine.getTpm()).strip()
                    : "%s, certificate by \"%s\""
                        .formatted(machine.getTpm(), machine.getTpmIssuer()),
                hex(machine.getEndorsementKey())));
    List<Integer> changed = new ArrayList<>(machine.getChangedPcrsList());
    if (machine.getOptionsCount() > 0 && changed.remove((Integer) OPTIONS)) {
      if (image(machine, policy).filter(each -> hasOptions(each, machine)).isEmpty()) {
        lines.add(
            "options that the boot loader gave, of no image that the cluster names (PCR 12): "
                + String.join(" ", hex(machine.getOptionsList())));
      }
    }
    if (!changed.isEmpty()) {
      lines.add(
          "PCRs %s: the machine has taken options or files beside its boot file"
              .formatted(changed));
    }
    if (!unexplained.isEmpty()) {
      lines.add(
          "PCRs %s: the firmware's log does not explain them; nothing above depends on them"
              .formatted(unexplained));
    }
    return lines;
  }

  /** Returns the image with these programs; of several, the one with these options. */
  private static Optional<AllowedImage> image(AttestedMachine machine, AttestationPolicy policy) {
    return policy.getImagesList().stream()
        .filter(each -> each.getProgramsList().equals(machine.getProgramsList()))
        .min(Comparator.comparing(each -> !hasOptions(each, machine)));
  }

  private static boolean hasOptions(AllowedImage image, AttestedMachine machine) {
    return image.getOptionsCount() > 0 && image.getOptionsList().equals(machine.getOptionsList());
  }

  static List<String> hex(List<ByteString> digests) {
    return digests.stream().map(AttestedLines::hex).toList();
  }

  private static String hex(ByteString digest) {
    return HexFormat.of().formatHex(digest.toByteArray());
  }
}
