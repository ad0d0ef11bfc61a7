package dev.polis.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.util.JsonFormat;
import dev.polis.cluster.NodeParameterSource.Form;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.api.NodeParameters.ClusterBootstrap;
import dev.polis.wire.api.NodeParameters.ClusterRegister;
import dev.polis.wire.common.ClusterDirectory;
import dev.polis.wire.common.NodeLabels;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NodeParametersLoaderTest {

  private final LogTree logs = LogTree.create();

  @TempDir Path directory;

  private Path fwCfg() {
    return directory.resolve("raw");
  }

  private Path esp() {
    return directory.resolve("parameters.pb");
  }

  private Path espJson() {
    return directory.resolve("parameters.json");
  }

  private NodeParametersLoader loader() {
    return new NodeParametersLoader(
        List.of(
            new NodeParameterSource("fw_cfg", fwCfg(), Form.BINARY, false),
            new NodeParameterSource("ESP", esp(), Form.BINARY, false),
            new NodeParameterSource("ESP, JSON", espJson(), Form.JSON, false)),
        logs.log("cluster"));
  }

  private static NodeParameters bootstrap(int fill) {
    byte[] key = new byte[32];
    Arrays.fill(key, (byte) fill);
    return NodeParameters.newBuilder()
        .setClusterBootstrap(
            ClusterBootstrap.newBuilder().setOwnerPublicKey(ByteString.copyFrom(key)))
        .build();
  }

  private String refusal() {
    String message =
        assertThrows(NodeParametersException.class, () -> loader().load()).getMessage();
    assertTrue(message.contains(directory.toString()), () -> "names no file: " + message);
    return message;
  }

  private String logged() {
    try (LogReader reader = logs.read(LogQuery.of("cluster").backlogAll())) {
      return reader.backlog().stream().map(LogEntry::toString).collect(Collectors.joining("\n"));
    }
  }

  @Test
  @DisplayName("SEED-04 fw_cfg beats the ESP with a warning")
  void seed04_firmwareWins() throws IOException {
    Files.write(fwCfg(), bootstrap(1).toByteArray());
    Files.write(esp(), bootstrap(2).toByteArray());
    assertEquals(bootstrap(1), loader().load().parameters());
    assertTrue(logged().contains("ignores"), logged());
  }

  @Test
  @DisplayName("SEED-04 without fw_cfg the ESP is read")
  void seed04_espAlone() throws IOException {
    Files.write(esp(), bootstrap(2).toByteArray());
    assertEquals(bootstrap(2), loader().load().parameters());
  }

  @Test
  @DisplayName("SEED-04 an unreadable source is an error, not an absent one")
  void seed04_unreadable() throws IOException {
    Files.createDirectory(fwCfg());
    Files.write(esp(), bootstrap(2).toByteArray());
    assertTrue(refusal().contains("cannot read"));
  }

  @Test
  void givenNothing_thenEveryPlaceIsNamed() {
    String message = refusal();
    assertTrue(message.contains("fw_cfg") && message.contains("parameters.json"), message);
  }

  @ParameterizedTest
  @CsvSource(
      textBlock =
          """
          not_a_domain, which is not made of lower-case letters
          1.2.3.4, would read as an address
          '', is empty
          aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd.aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd, 81 characters; 80 are allowed
          """)
  void givenADomainNoClusterMayHave_thenRefusedInTheWordsOfTheCurator(String domain, String words)
      throws IOException {
    NodeParameters.Builder parameters = bootstrap(1).toBuilder();
    parameters
        .getClusterBootstrapBuilder()
        .getInitialClusterConfigurationBuilder()
        .setClusterDomain(domain);
    Files.write(esp(), parameters.build().toByteArray());
    String refusal = refusal();
    assertTrue(refusal.contains("cluster_domain \"" + domain + "\""), refusal);
    assertTrue(refusal.contains(words), refusal);
  }

  @Test
  void givenATimeServerThatIsNone_thenRefused() throws IOException {
    Files.write(esp(), bootstrap(1).toBuilder().addTimeServer("ntp iburst").build().toByteArray());
    String refusal = refusal();
    assertTrue(refusal.contains("time_server: the time server \"ntp iburst\""), refusal);
  }

  @Test
  void givenBothKindsInBinary_thenRefused() throws IOException {
    ByteArrayOutputStream both = new ByteArrayOutputStream();
    both.write(bootstrap(1).toByteArray());
    both.write(
        NodeParameters.newBuilder()
            .setClusterRegister(ClusterRegister.getDefaultInstance())
            .build()
            .toByteArray());
    Files.write(esp(), both.toByteArray());
    assertTrue(refusal().contains("both cluster_bootstrap and cluster_register"));
  }

  @Test
  void givenBothKindsInJson_thenRefused() throws IOException {
    Files.writeString(espJson(), "{\"clusterBootstrap\":{},\"clusterRegister\":{}}");
    assertTrue(refusal().contains("cluster"));
  }

  @Test
  void givenNeitherKind_thenRefused() throws IOException {
    Files.writeString(espJson(), "{}");
    assertTrue(refusal().contains("neither cluster_bootstrap nor cluster_register set"));
  }

  @Test
  void givenEveryTruncation_thenRefusedAndNeverAccepted() throws IOException {
    byte[] whole = bootstrap(3).toByteArray();
    for (int length = 0; length < whole.length; length++) {
      Files.write(esp(), Arrays.copyOf(whole, length));
      String refusal = refusal();
      assertTrue(refusal.contains(length == 0 ? "is empty" : "truncated"), refusal);
    }
  }

  @Test
  void givenATruncationOfJson_thenRefused() throws IOException {
    String whole = JsonFormat.printer().print(bootstrap(3));
    Files.writeString(espJson(), whole.substring(0, whole.length() / 2));
    String told = refusal();
    assertTrue(told.contains("not NodeParameters in JSON"), told);
    assertFalse(told.contains("Exception"), told);
    assertFalse(told.contains("https://"), told);
    assertTrue(told.contains("./polis ctl params make"), told);
  }

  @Test
  void givenUnknownFieldInBinary_thenItsNumberAndPlaceAreNamed() throws IOException {
    UnknownFieldSet strange =
        UnknownFieldSet.newBuilder()
            .addField(777, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
            .build();
    NodeParameters parameters = bootstrap(1);
    Files.write(
        esp(),
        parameters.toBuilder()
            .setClusterBootstrap(
                parameters.getClusterBootstrap().toBuilder().setUnknownFields(strange))
            .build()
            .toByteArray());
    String message = refusal();
    assertTrue(message.contains("777") && message.contains("cluster_bootstrap"), message);
  }

  @Test
  void givenUnknownFieldInJson_thenItIsNamed() throws IOException {
    Files.writeString(espJson(), "{\"clusterBotstrap\":{}}");
    assertTrue(refusal().contains("clusterBotstrap"));
  }

  @Test
  void givenOwnerKeyOfWrongLength_thenLengthAndFieldAreNamed() throws IOException {
    Files.writeString(espJson(), "{\"clusterBootstrap\":{\"ownerPublicKey\":\"AAAA\"}}");
    String message = refusal();
    assertTrue(message.contains("owner_public_key has 3 bytes") && message.contains("32"), message);
  }

  private static ClusterRegister.Builder register() {
    return ClusterRegister.newBuilder()
        .setRegisterTicket(ByteString.copyFromUtf8("the ticket"))
        .setCaCertificate(
            ByteString.copyFrom(Pem.der(CertificateAuthority.create("a cluster").certificate())))
        .setClusterDirectory(directory("", "192.0.2.7", "2001:db8::7"));
  }

  /** Returns a directory of one node for each address; an empty one is none. */
  private static ClusterDirectory directory(String... hosts) {
    ClusterDirectory.Builder directory = ClusterDirectory.newBuilder();
    for (String host : hosts) {
      ClusterDirectory.Node.Builder node =
          directory.addNodesBuilder().setId(NodeId.ofHex("0".repeat(32)).text());
      if (!host.isEmpty()) {
        node.addAddresses(ClusterDirectory.Node.Address.newBuilder().setHost(host));
      }
    }
    return directory.build();
  }

  private void write(ClusterRegister.Builder register) throws IOException {
    Files.write(
        esp(), NodeParameters.newBuilder().setClusterRegister(register).build().toByteArray());
  }

  @Test
  @DisplayName("D-33 a directory may have nodes without an address, if others have one")
  void d33_directory() throws IOException {
    write(register());
    ClusterDirectory read = loader().load().parameters().getClusterRegister().getClusterDirectory();
    assertEquals(
        List.of("192.0.2.7:7835", "2001:db8:0:0:0:0:0:7:7835"),
        CuratorAddresses.of(read).stream()
            .map(
                each ->
                    each.address().getAddress().getHostAddress() + ":" + each.address().getPort())
            .toList());

    write(register().setClusterDirectory(directory("", "")));
    assertTrue(refusal().contains("has 2 nodes and the address of none"), refusal());
    write(register().setClusterDirectory(directory()));
    assertTrue(refusal().contains("has 0 nodes and the address of none"), refusal());
    write(register().setClusterDirectory(directory("node.example.org")));
    assertTrue(refusal().contains("node.example.org"), refusal());
    ClusterDirectory.Builder nameless = directory("192.0.2.7").toBuilder();
    nameless.getNodesBuilder(0).clearId();
    write(register().setClusterDirectory(nameless));
    assertTrue(refusal().contains("the node at 192.0.2.7 has the id \"\""), refusal());
  }

  @Test
  @DisplayName("a registration without ticket, or without the CA of a cluster, is refused")
  void incompleteRegistration() throws IOException {
    write(register().clearRegisterTicket());
    assertTrue(refusal().contains("register_ticket is empty"), refusal());
    write(register().clearCaCertificate());
    assertTrue(refusal().contains("ca_certificate"), refusal());
    CertificateAuthority authority = CertificateAuthority.create("a cluster");
    write(
        register()
            .setCaCertificate(
                ByteString.copyFrom(Pem.der(authority.issueNode(Ed25519.generate().getPublic())))));
    assertTrue(refusal().contains("is not marked as a CA"), refusal());
    write(register().setRecoveryPublicKey(ByteString.copyFrom(new byte[31])));
    assertTrue(refusal().contains("cluster_register.recovery_public_key has 31 bytes"), refusal());
  }

  @Test
  void givenGarbage_thenRefused() throws IOException {
    byte[] garbage = new byte[64];
    Arrays.fill(garbage, (byte) 0xff);
    Files.write(esp(), garbage);
    refusal();
  }

  @Test
  @DisplayName("D-30 of two labels with one key the first is kept")
  void d30_labels() {
    NodeLabels labels =
        NodeLabels.newBuilder()
            .addPairs(NodeLabels.Pair.newBuilder().setKey("a").setValue("1"))
            .addPairs(NodeLabels.Pair.newBuilder().setKey("a").setValue("2"))
            .addPairs(NodeLabels.Pair.newBuilder().setKey("-bad").setValue("3"))
            .build();
    assertEquals(Map.of("a", "1"), NodeParametersLoader.sanitized(labels, logs.log("cluster")));
    assertTrue(logged().contains("-bad=3") && logged().contains("a=2"), logged());
  }
}
