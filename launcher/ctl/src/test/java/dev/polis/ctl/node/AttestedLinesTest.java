package dev.polis.ctl.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.AllowedImage;
import dev.polis.wire.cluster.AttestationPolicy;
import dev.polis.wire.cluster.AttestedMachine;
import dev.polis.wire.cluster.AttestedMachine.SecureBoot;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class AttestedLinesTest {

  private static final ByteString PROGRAM = ByteString.fromHex("aa".repeat(32));

  private static final AttestedMachine MACHINE =
      AttestedMachine.newBuilder()
          .addPrograms(PROGRAM)
          .setSecureBoot(SecureBoot.SECURE_BOOT_ON)
          .setTpm("manufacturer=id:1")
          .setTpmIssuer("CN=Maker")
          .setEndorsementKey(ByteString.fromHex("0102"))
          .build();

  private static Node of(AttestedMachine machine) {
    return Node.newBuilder().setAttestation(machine).build();
  }

  @Test
  @DisplayName("the approver reads the image by its name, Secure Boot, and whose TPM it is")
  void named() {
    AttestationPolicy policy =
        AttestationPolicy.newBuilder()
            .addImages(AllowedImage.newBuilder().setName("1.4.0").addPrograms(PROGRAM))
            .build();
    assertEquals(
        List.of(
            "machine: booted image 1.4.0 (PCR 4: %s), Secure Boot on".formatted("aa".repeat(32)),
            "TPM: manufacturer=id:1, certificate by \"CN=Maker\"; endorsement key SHA-256 0102"),
        AttestedLines.of(of(MACHINE), policy));
    assertEquals(
        AttestedLines.of(of(MACHINE), policy),
        AttestedLines.of(
            of(MACHINE.toBuilder().addChangedPcrs(12).addOptions(PROGRAM).build()),
            policy.toBuilder()
                .setImages(0, policy.getImages(0).toBuilder().addOptions(PROGRAM))
                .build()),
        "the options of an image are none beside it");
    AttestedMachine optional = MACHINE.toBuilder().addChangedPcrs(12).addOptions(PROGRAM).build();
    assertEquals(
        "options that the boot loader gave, of no image that the cluster names (PCR 12): "
            + "aa".repeat(32),
        AttestedLines.of(of(optional), policy).getLast());
    AttestationPolicy two =
        policy.toBuilder()
            .addImages(policy.getImages(0).toBuilder().setName("1.4.1").addOptions(PROGRAM))
            .build();
    List<String> lines = AttestedLines.of(of(optional), two);
    assertEquals(2, lines.size(), "the second image has the same programs and these options");
    assertTrue(lines.getFirst().contains("image 1.4.1"), lines.getFirst());
    assertEquals(
        "{\"programs\":[\"%s\"],\"secureBoot\":\"ON\",\"options\":[],\"changedPcrs\":[],\"unexplainedPcrs\":[],\"endorsementKey\":\"0102\",\"tpm\":\"manufacturer=id:1\",\"tpmIssuer\":\"CN=Maker\"}"
            .formatted("aa".repeat(32)),
        AttestedLines.json(of(MACHINE)).orElseThrow().toString());
  }

  @Test
  @DisplayName("no evidence, no certificate, an unnamed image and odd PCRs are said")
  void lacking() {
    AttestationPolicy policy = AttestationPolicy.getDefaultInstance();
    assertEquals(
        List.of("machine: no evidence of a TPM"),
        AttestedLines.of(Node.getDefaultInstance(), policy));
    assertEquals(Optional.empty(), AttestedLines.json(Node.getDefaultInstance()));
    AttestedMachine odd =
        MACHINE.toBuilder()
            .clearTpm()
            .clearTpmIssuer()
            .clearSecureBoot()
            .addChangedPcrs(12)
            .addUnexplainedPcrs(5)
            .build();
    assertEquals(
        List.of(
            "machine: booted an image that the cluster does not name (PCR 4: %s), Secure Boot unknown"
                .formatted("aa".repeat(32)),
            "TPM: without a usable certificate; endorsement key SHA-256 0102",
            "PCRs [12]: the machine has taken options or files beside its boot file",
            "PCRs [5]: the firmware's log does not explain them; nothing above depends on them"),
        AttestedLines.of(of(odd), policy));
    AttestedMachine unmeasured =
        odd.toBuilder().clearPrograms().addUnexplainedPcrs(4).addUnexplainedPcrs(7).build();
    assertEquals(
        "machine: booted what its firmware's log does not have (PCR 4: not measured), Secure Boot unknown (PCR 7: not measured)",
        AttestedLines.of(of(unmeasured), policy).getFirst());
  }
}
