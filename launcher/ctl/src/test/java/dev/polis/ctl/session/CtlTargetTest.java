package dev.polis.ctl.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.wire.common.ClusterDirectory;
import java.io.BufferedReader;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PublicKey;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CtlTargetTest {

  private static final NodeId NODE = NodeId.ofHex("0".repeat(32));

  @TempDir Path state;

  private void directory(byte[] content) throws Exception {
    Files.createDirectories(state.resolve("esp"));
    Files.write(state.resolve("esp/cluster_directory.pb"), content);
  }

  @Test
  void givenAStateDirectoryThatNeverWasHome_thenItsNodeIsOnTheLoopback() {
    CtlTarget target = CtlTarget.ofState(state);
    assertEquals("127.0.0.1", target.endpoint());
    assertEquals(state.resolve("owner/owner-key.pem"), target.ownerKey());
    assertEquals(state.resolve("owner/owner.pem"), target.ownerCertificate());
  }

  @Test
  void givenAClusterDirectory_thenItsAddressIsAsked_unlessAnotherIsNamed() throws Exception {
    directory(
        ClusterDirectory.newBuilder()
            .addNodes(
                ClusterDirectory.Node.newBuilder()
                    .setId(NODE.text())
                    .addAddresses(ClusterDirectory.Node.Address.newBuilder().setHost("127.0.9.9")))
            .build()
            .toByteArray());
    assertEquals("127.0.9.9", CtlTarget.ofState(state).endpoint());
    assertEquals(Optional.of(NODE), CtlTarget.ofState(state).node());
    assertEquals("10.0.0.1", CtlTarget.ofState(state).at("10.0.0.1").endpoint());
    assertEquals(Optional.empty(), CtlTarget.ofState(state).at("10.0.0.1").node());
  }

  @Test
  @DisplayName("the folder of a cluster on this machine stands for a node of it, and for its owner")
  void cluster() throws Exception {
    Files.createFile(state.resolve("cluster"));
    String told = refusal(state);
    assertTrue(told.contains("./polis up --nodes 3 --state " + state), told);

    Path second = Files.createDirectory(state.resolve("2"));
    Path owner = Files.createDirectories(state.resolve("3/owner"));
    Files.createFile(owner.resolve("owner-key.pem"));
    told = refusal(state);
    assertTrue(told.contains("no node of the cluster in " + state), told);
    assertTrue(told.contains("./polis up --nodes 2 --state " + state), told);

    // This process runs the second node.
    Files.writeString(second.resolve("node.lock"), ProcessHandle.current().pid() + "\n");
    CtlTarget target = CtlTarget.ofState(state);
    assertEquals(second, target.state().orElseThrow());
    assertEquals(owner, target.folder());
    assertEquals(owner, CtlTarget.ofState(second).folder(), "a single node of the cluster");
  }

  @Test
  @DisplayName("a state directory that was renamed or deleted under its node is named as that")
  void lostDirectory() throws Exception {
    Path lost = Files.createDirectory(state.resolve("lost"));
    Path renamed = state.resolve("renamed");
    Process node =
        new ProcessBuilder(
                List.of(
                    "sh",
                    "-c",
                    "exec 3>\"$3/node.lock\"; echo open; read line",
                    "dev.polis.node.Main",
                    "run",
                    "--state",
                    lost.toString()))
            .start();
    try (BufferedReader output = node.inputReader()) {
      assertEquals("open", output.readLine());

      Files.move(lost, renamed);
      String told = refusal(lost);
      assertTrue(
          told.contains("%s is at %s now, and the process %d".formatted(lost, renamed, node.pid())),
          told);
      assertTrue(told.contains("(mv %s %s)".formatted(renamed, lost)), told);

      Files.move(renamed, lost);
      Files.delete(lost.resolve("node.lock"));
      Files.delete(lost);
      told = refusal(lost);
      assertTrue(told.contains("%s was deleted".formatted(lost)), told);
      assertTrue(told.contains("(kill %d)".formatted(node.pid())), told);
    } finally {
      node.destroyForcibly().waitFor();
    }
    assertTrue(refusal(lost).contains("does not exist; start a node"), refusal(lost));
  }

  private static String refusal(Path state) {
    return assertThrows(CtlException.class, () -> CtlTarget.ofState(state)).getMessage();
  }

  private void listeners(String content) throws Exception {
    Files.createDirectories(state.resolve("ephemeral"));
    Files.writeString(state.resolve("ephemeral/listeners"), content);
  }

  @ParameterizedTest
  @CsvSource({"127.0.0.1, 127.0.0.1", "127.0.9.7, 127.0.9.7", "10.1.2.3, 127.0.0.1"})
  void givenANodeThatSaysWhereItListens_thenItIsAskedThere_alsoBeforeItIsAMember(
      String address, String debug) throws Exception {
    listeners(
        """
        curator %1$s:7835 closed waits for credentials
        debug %2$s:7837 open
        management %1$s:7839 closed waits for credentials
        """
            .formatted(address, debug));
    CtlTarget target = CtlTarget.ofState(state);
    assertEquals(address, target.endpoint());
    assertEquals(new InetSocketAddress(debug, 7837), target.debug());
    assertEquals(new InetSocketAddress("10.0.0.1", 7837), target.at("10.0.0.1").debug());
  }

  @Test
  @DisplayName("the node on this machine is the one that its own certificate names")
  void ownId() throws Exception {
    listeners("curator 127.0.9.7:7835 open\n");
    assertEquals(Optional.empty(), CtlTarget.ofState(state).node());
    PublicKey key = Ed25519.generate().getPublic();
    Path credentials = Files.createDirectories(state.resolve("data/node/credentials"));
    Files.writeString(
        credentials.resolve("cert.pem"),
        Pem.encode(CertificateAuthority.create("a cluster").issueNode(key)));

    assertEquals(Optional.of(NodeId.of(key)), CtlTarget.ofState(state).node());
    assertEquals("127.0.9.7", CtlTarget.ofState(state).endpoint());
  }

  @Test
  void aNodeThatIsBoundToAllAddresses_isAskedOnTheLoopback() throws Exception {
    listeners("curator 0.0.0.0:7835 open\n");
    assertEquals("127.0.0.1", CtlTarget.ofState(state).endpoint());
  }

  @Test
  void aDamagedListOfListeners_isRefusedAndNotGuessed() throws Exception {
    listeners("curator somewhere\n");
    CtlException refused = assertThrows(CtlException.class, () -> CtlTarget.ofState(state));
    assertTrue(refused.getMessage().contains("\"curator somewhere\""), refused.getMessage());
    assertTrue(refused.getMessage().contains("--endpoint"), refused.getMessage());
  }

  @Test
  void aDamagedClusterDirectory_isRefusedAndNotGuessed() throws Exception {
    directory(new byte[] {(byte) 0xff, 1, 2});
    CtlException refused = assertThrows(CtlException.class, () -> CtlTarget.ofState(state));
    assertEquals(ExitCode.FAILED, refused.exitCode());
    assertTrue(refused.getMessage().contains("cluster_directory.pb"), refused.getMessage());
    assertTrue(refused.getMessage().contains("--endpoint"), refused.getMessage());
  }

  @Test
  @DisplayName(
      "if the node ended because of a damaged file, the refusal gives the reason for its end")
  void whyTheNodeEndedGoesBeforeTheFile() throws Exception {
    directory(new byte[] {(byte) 0xff, 1, 2});
    Files.writeString(state.resolve("esp/crash.txt"), "storage failed: the disk is gone\nmore");
    CtlException refused = assertThrows(CtlException.class, () -> CtlTarget.ofState(state));
    assertEquals(ExitCode.UNREACHABLE, refused.exitCode());
    assertTrue(
        refused.getMessage().contains("ended with: storage failed: the disk is gone;"),
        refused.getMessage());
  }

  @Test
  @DisplayName("the full heap that ended a node is its last end, not an older crash")
  void fullHeap() throws Exception {
    Files.createDirectories(state.resolve("ephemeral/launcher"));
    Files.createDirectories(state.resolve("esp"));
    Files.writeString(state.resolve("esp/crash.txt"), "storage failed: the disk was gone\n");
    Files.writeString(
        state.resolve("ephemeral/launcher/jvm-error.txt"),
        "#  fatal error: OutOfMemory encountered: Java heap space\n-Xmx96m\n");
    assertEquals(
        Optional.of(
            "the node ran out of memory: its heap of at most 96 MiB was full (Java heap space); give it a larger one (polis up --heap)"),
        CtlTarget.ofState(state).lastCrash());
  }

  @Test
  void aMissingStateDirectory_isRefused() {
    CtlException refused =
        assertThrows(CtlException.class, () -> CtlTarget.ofState(state.resolve("nothing")));
    assertEquals(ExitCode.NOT_FOUND, refused.exitCode());
  }
}
