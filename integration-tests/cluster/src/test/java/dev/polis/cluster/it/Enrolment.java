package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.wire.storage.EnrolmentJournal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;

/** Reads what an enrolment left on the disk of a node, and checks it. */
final class Enrolment {

  private Enrolment() {}

  static Path journalFile(TestNode node) {
    return node.state().resolve("esp/enrolment_journal.pb");
  }

  static EnrolmentJournal journal(TestNode node) throws Exception {
    return journalIfAny(node)
        .orElseThrow(() -> new AssertionError(journalFile(node) + " is gone: " + node.said()));
  }

  static Optional<EnrolmentJournal> journalIfAny(TestNode node) throws Exception {
    Path file = journalFile(node);
    if (!Files.exists(file)) {
      return Optional.empty();
    }
    byte[] content = Files.readAllBytes(file);
    // The payload begins after the first empty line.
    int end = new String(content, StandardCharsets.ISO_8859_1).indexOf("\n\n") + 2;
    return Optional.of(
        EnrolmentJournal.parseFrom(Arrays.copyOfRange(content, end, content.length)));
  }

  static void requireSameKeys(EnrolmentJournal was, EnrolmentJournal is, String step) {
    assertEquals(was.getNodePrivateKey(), is.getNodePrivateKey(), "node key after " + step);
    assertEquals(was.getJoinPrivateKey(), is.getJoinPrivateKey(), "join key after " + step);
    assertEquals(was.getNodeUnlockKey(), is.getNodeUnlockKey(), "unlock key after " + step);
    assertEquals(was.getClusterUnlockKey(), is.getClusterUnlockKey(), "unlock key after " + step);
  }

  static NodeId id(EnrolmentJournal journal) {
    return NodeId.of(
        Ed25519.publicKey(Ed25519.privateKeyFromSeed(journal.getNodePrivateKey().toByteArray())));
  }

  /** Returns the node's id from its saved certificate. */
  static NodeId certified(TestNode node) throws Exception {
    Path file = node.state().resolve("data/node/credentials/cert.pem");
    return NodeId.of(Pem.certificate(Files.readString(file)).getPublicKey());
  }

  /** Requires that the node is a member under this id, without remains of its enrolment. */
  static void isItself(TestNode node, NodeId id) throws Exception {
    node.takeOwnership();
    JsonArray nodes = node.json("node", "list").getAsJsonArray();
    assertEquals(1, nodes.size(), "one node, one record");
    assertEquals(id.text(), nodes.get(0).getAsJsonObject().get("id").getAsString());
    assertFalse(Files.exists(journalFile(node)), "the journal, with keys in it, is still there");
    assertTrue(Files.exists(node.state().resolve("esp/sealed_configuration.pb")));
  }
}
