package dev.polis.curator.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.rpc.RpcException;
import dev.polis.wire.cluster.AllowedImage;
import dev.polis.wire.cluster.AttestationPolicy;
import dev.polis.wire.cluster.AttestedMachine;
import dev.polis.wire.curator.stored.Node;
import io.grpc.Status;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Compares machines with what a cluster demands. */
class AttestationRulesTest {

  private static final ByteString THIS = ByteString.fromHex("aa".repeat(32));
  private static final ByteString OTHER = ByteString.fromHex("bb".repeat(32));

  private static Node attested(AttestedMachine.Builder machine) {
    return Node.newBuilder().setId("metropolis-1").setAttestation(machine).build();
  }

  private static String refused(Node of, AttestationPolicy.Builder policy) {
    return assertThrows(
            RpcException.class, () -> AttestationRules.requireApprovable(of, policy.build()))
        .getMessage();
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a wrong image, a second program, options beside the boot file, and no evidence: not approved, and the measurement is named")
  void demands() {
    AttestedMachine.Builder machine = AttestedMachine.newBuilder().addPrograms(THIS);
    AttestationPolicy.Builder policy =
        AttestationPolicy.newBuilder()
            .setRequired(true)
            .addImages(AllowedImage.newBuilder().setName("1.4.0").addPrograms(THIS));
    AttestationRules.requireApprovable(attested(machine), policy.build());

    String wrong = refused(attested(AttestedMachine.newBuilder().addPrograms(OTHER)), policy);
    assertTrue(
        wrong.contains(
            "PCR 4 (the programs that the firmware has started): found [%s], expected [%s] of image 1.4.0"
                .formatted("bb".repeat(32), "aa".repeat(32))),
        wrong);
    String second = refused(attested(machine.clone().addPrograms(OTHER)), policy);
    assertTrue(second.contains("PCR 4"), second);
    String beside = refused(attested(machine.clone().addChangedPcrs(12)), policy);
    assertTrue(beside.contains("PCR 12 (options and credentials beside the boot file)"), beside);
    AttestedMachine.Builder optioned = machine.clone().addChangedPcrs(12).addOptions(OTHER);
    assertTrue(
        refused(attested(optioned), policy).contains("found [%s]".formatted("bb".repeat(32))));
    policy.setImages(0, policy.getImages(0).toBuilder().addOptions(OTHER));
    AttestationRules.requireApprovable(attested(optioned), policy.build());
    String more = refused(attested(optioned.clone().addOptions(THIS)), policy);
    assertTrue(more.contains("PCR 12"), more);
    AttestationRules.requireApprovable(
        attested(optioned.clone().addOptions(THIS)), policy.clone().clearImages().build());
    for (int pcr : List.of(4, 7)) {
      String unmeasured =
          refused(attested(machine.clone().addUnexplainedPcrs(pcr)), policy.clone().clearImages());
      assertTrue(unmeasured.contains("PCR %d: not measured".formatted(pcr)), unmeasured);
    }
    String nothing = refused(Node.newBuilder().setId("metropolis-1").build(), policy);
    assertTrue(nothing.contains("it has proved nothing of its machine"), nothing);

    policy.setRequired(false);
    AttestationRules.requireApprovable(Node.getDefaultInstance(), policy.build());
  }

  @Test
  @DisplayName(
      "a configuration with a nameless image, a digest of another length, or no certificate is refused")
  void malformed() {
    AllowedImage.Builder image = AllowedImage.newBuilder().setName("1").addPrograms(THIS);
    AttestationRules.check(AttestationPolicy.newBuilder().addImages(image).build());
    for (AttestationPolicy.Builder each :
        List.of(
            AttestationPolicy.newBuilder().addImages(image).addImages(image),
            AttestationPolicy.newBuilder().addImages(image.clone().clearName()),
            AttestationPolicy.newBuilder().addImages(image.clone().clearPrograms()),
            AttestationPolicy.newBuilder().addImages(image.clone().addPrograms(THIS.substring(1))),
            AttestationPolicy.newBuilder().addTpmAuthorities(THIS))) {
      assertEquals(
          Status.Code.INVALID_ARGUMENT,
          assertThrows(RpcException.class, () -> AttestationRules.check(each.build())).code());
    }
  }
}
