package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import dev.polis.pki.Ed25519;
import dev.polis.wire.api.ApproveNodeRequest;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.curator.CommitNodeRequest;
import dev.polis.wire.curator.CommitNodeResponse;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.JoinNodeRequest;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.sealed.SealedConfiguration;
import dev.polis.wire.storage.EnrolmentJournal;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RedactionTest {
  /** A key of 32 bytes that is recognizable in any printed form. */
  private static final String TELLTALE = "TELLTALE-TELLTALE-TELLTALE-32-by";

  private static final ByteString SECRET = ByteString.copyFromUtf8(TELLTALE);

  @Test
  @DisplayName("a secret field shows only its size, at any place in a message")
  void secretsAreLeftOut() {
    assertAll(
        () ->
            assertEquals(
                "{cluster_unlock_key: <secret 32 bytes>, storage_security: NODE_STORAGE_SECURITY_ENCRYPTED}",
                RedactedText.of(
                    CommitNodeRequest.newBuilder()
                        .setClusterUnlockKey(SECRET)
                        .setStorageSecurityValue(2)
                        .build())),
        () ->
            assertEquals(
                "{cluster_register: {register_ticket: <secret 32 bytes>}}",
                RedactedText.of(
                    NodeParameters.newBuilder()
                        .setClusterRegister(
                            NodeParameters.ClusterRegister.newBuilder().setRegisterTicket(SECRET))
                        .build())),
        () ->
            assertEquals(
                "{proofs: {plaintext_password: <secret 4 characters>}}",
                RedactedText.of(
                    EscrowRequest.newBuilder()
                        .setProofs(EscrowRequest.Proofs.newBuilder().setPlaintextPassword("1234"))
                        .build())));
  }

  @Test
  @DisplayName(
      "fields that are not secret are shown in short form, on one line, bytes by their number")
  void theRestIsShown() {
    String filter = "node.state == \"UP\"\nforged line" + "x".repeat(2000);
    String text = RedactedText.of(GetNodesRequest.newBuilder().setFilter(filter).build());
    assertAll(
        () -> assertTrue(text.startsWith("{filter: \"node.state == ?UP??forged line"), text),
        () -> assertTrue(text.length() < 600, "length " + text.length()),
        () ->
            assertEquals(
                "{pubkey: <32 bytes>}",
                RedactedText.of(ApproveNodeRequest.newBuilder().setPubkey(SECRET).build())));
  }

  @Test
  @DisplayName("fields with names of secrets are marked as secret")
  void secretsAreMarked() {
    List<Descriptor> messages =
        List.of(
            CommitNodeRequest.getDescriptor(),
            RegisterNodeRequest.getDescriptor(),
            SealedConfiguration.getDescriptor(),
            EnrolmentJournal.getDescriptor(),
            dev.polis.wire.curator.JoinNodeResponse.getDescriptor(),
            dev.polis.wire.curator.stored.Node.getDescriptor(),
            dev.polis.wire.api.GetRegisterTicketResponse.getDescriptor(),
            NodeParameters.ClusterRegister.getDescriptor());
    for (Descriptor message : messages) {
      for (FieldDescriptor field : message.getFields()) {
        if (field.getName().matches(".*(unlock_key|ticket|private_key|opaque|password)")) {
          assertFalse(
              RedactedText.of(filled(message, field)).contains("TELLTALE")
                  || RedactedText.of(filled(message, field)).contains(": <32 bytes>"),
              field.getFullName() + " is not marked as sensitive");
        }
      }
    }
  }

  private static Message filled(Descriptor message, FieldDescriptor field) {
    return DynamicMessage.newBuilder(message).setField(field, SECRET).build();
  }

  @Test
  @DisplayName("RPC-05 D-05 keys and tickets of calls are in no log entry at any verbosity")
  void rpc05_noSecretInAnyLog() {
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.logs.setVerbosity("rpc.curator", 9);
      fixture.host.serve(
          RpcHost.CURATOR,
          RpcFixture.serving(
              CuratorGrpc.getServiceDescriptor(),
              method ->
                  RpcFixture.unary(
                      request ->
                          method.getFullMethodName().endsWith("JoinNode")
                              ? dev.polis.wire.curator.JoinNodeResponse.newBuilder()
                                  .setClusterUnlockKey(SECRET)
                                  .build()
                              : CommitNodeResponse.getDefaultInstance())));
      fixture.host.serve(
          RpcHost.CURATOR,
          RpcFixture.serving(
              ManagementGrpc.getServiceDescriptor(),
              method ->
                  RpcFixture.unary(
                      request ->
                          dev.polis.wire.api.GetRegisterTicketResponse.newBuilder()
                              .setTicket(SECRET)
                              .build())));
      ManagedChannel self =
          fixture.channel(RpcClients.ephemeral(Ed25519.generate(), fixture.trust()));
      CuratorGrpc.CuratorBlockingStub curator = CuratorGrpc.newBlockingStub(self);

      curator.commitNode(CommitNodeRequest.newBuilder().setClusterUnlockKey(SECRET).build());
      curator.registerNode(RegisterNodeRequest.newBuilder().setRegisterTicket(SECRET).build());
      assertEquals(
          SECRET, curator.joinNode(JoinNodeRequest.getDefaultInstance()).getClusterUnlockKey());
      assertEquals(
          SECRET,
          ManagementGrpc.newBlockingStub(fixture.asOwner())
              .getRegisterTicket(GetRegisterTicketRequest.getDefaultInstance())
              .getTicket());

      String everything = String.join("\n", fixture.log());
      assertAll(
          () -> assertTrue(everything.contains("<secret 32 bytes>"), everything),
          () -> assertTrue(everything.contains("sends {cluster_unlock_key: <secret"), everything),
          () -> assertFalse(everything.contains(TELLTALE.substring(0, 8)), everything),
          () ->
              assertFalse(
                  everything.contains(
                      HexFormat.of().formatHex(TELLTALE.substring(0, 8).getBytes())),
                  everything));
    }
  }

  @Test
  @DisplayName(
      "changes by people are audited with caller, call, outcome and time; reads are not; a node's own reports are separate")
  void deedsAreAudited() {
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(
          RpcHost.CURATOR, RpcFixture.reaching(ManagementGrpc.getServiceDescriptor()));
      fixture.host.serve(RpcHost.CURATOR, RpcFixture.reaching(CuratorGrpc.getServiceDescriptor()));
      ManagedChannel owner = fixture.asOwner();
      ManagedChannel node = fixture.as(fixture.node());

      RpcFixture.statusOf(
          () ->
              ManagementGrpc.newBlockingStub(owner)
                  .approveNode(ApproveNodeRequest.newBuilder().setPubkey(SECRET).build()));
      Status denied =
          RpcFixture.statusOf(
              () ->
                  ManagementGrpc.newBlockingStub(node)
                      .approveNode(ApproveNodeRequest.getDefaultInstance()));
      RpcFixture.statusOf(
          () ->
              ManagementGrpc.newBlockingStub(owner)
                  .getNodes(GetNodesRequest.getDefaultInstance())
                  .next());
      RpcFixture.statusOf(
          () ->
              CuratorGrpc.newBlockingStub(node)
                  .updateNodeStatus(
                      dev.polis.wire.curator.UpdateNodeStatusRequest.getDefaultInstance()));

      List<String> audit =
          fixture.log("audit").stream().filter(line -> line.startsWith("audit ")).toList();
      assertEquals(Status.Code.PERMISSION_DENIED, denied.getCode());
      assertEquals(2, audit.size(), String.join("\n", audit));
      assertTrue(
          audit
              .get(0)
              .matches(
                  ".*user \"owner\" called metropolis.proto.api.Management/ApproveNode: ALREADY_EXISTS \\(reached\\) after \\d+ ms;.*"),
          audit.get(0));
      assertTrue(audit.get(1).contains("PERMISSION_DENIED"), audit.get(1));
      assertEquals(1, fixture.log("audit.self").size());
    }
  }
}
