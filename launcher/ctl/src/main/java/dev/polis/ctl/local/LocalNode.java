package dev.polis.ctl.local;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.ClusterBase;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.files.layout.Root;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * Reads how one node of the cluster stands, from its state directory and from the node itself.
 *
 * @param base of the cluster
 * @param number of the node, from 1
 * @param address at which it listens
 */
record LocalNode(ClusterBase base, int number, String address) {

  private static final Pattern APPROVAL =
      Pattern.compile("node approve (?<id>" + NodeId.PREFIX + "[0-9a-f]{32}) --key (?<key>\\S+)");

  /**
   * What a node that has registered says of itself.
   *
   * @param id its id
   * @param key the fingerprint of its key
   */
  record Approval(String id, String key) {}

  String name() {
    return "node " + number;
  }

  Path state() {
    return base.node(number);
  }

  private Root layout() {
    return Root.at(state());
  }

  /** Returns whether it has become a member of a cluster, at whichever time. */
  boolean isMember() {
    return Files.exists(layout().esp().sealedConfiguration().path());
  }

  boolean isHome() {
    return base.runs(number) && Files.exists(layout().ephemeral().launcher().home().path());
  }

  /** Returns the file with the parameters by which it joins. */
  Path parameters() {
    return layout().esp().path().resolve("parameters.json");
  }

  /** Returns the file to which its start prints. */
  Path output() {
    return state().resolve("up.log");
  }

  Path log() {
    return state().resolve("node.log");
  }

  Path ownerCertificate() {
    return layout().owner().path().resolve("owner.pem");
  }

  Path recoveryKey() {
    return layout().owner().path().resolve("recovery-key.pem");
  }

  /** Returns the id of a node that is HOME. */
  String id() {
    Path file = layout().data().node().credentials().path().resolve("cert.pem");
    String remedy = "it belongs to the data volume, which is mounted while the node runs";
    X509Certificate certificate =
        CtlFiles.parse(file, CtlFiles.read(file, remedy), Pem::certificate, "certificate", remedy);
    return NodeId.of(certificate.getPublicKey()).text();
  }

  /** Returns the id and the fingerprint that the node shows while it waits for its approval. */
  Optional<Approval> approval() {
    // A node in a network namespace of its own answers no call from outside before it is a
    // member: its screen shows the same, some seconds later.
    return approval(waits().stream()).or(() -> approval(screen().reversed().stream()));
  }

  private static Optional<Approval> approval(Stream<String> shown) {
    return shown
        .map(APPROVAL::matcher)
        .filter(Matcher::find)
        .map(found -> new Approval(found.group("id"), found.group("key")))
        .findFirst();
  }

  private List<String> screen() {
    try {
      return Files.readAllLines(log());
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns what the node itself waits for, for the message of a step that takes too long. */
  String seen() {
    List<String> waits = waits();
    return waits.isEmpty()
        ? "the node does not answer; its log is " + log()
        : waits.stream().collect(Collectors.joining("; ", "the node waits for ", ""));
  }

  private List<String> waits() {
    return new Operator(state())
        .rows("health").stream()
            .flatMap(
                node -> StreamSupport.stream(node.getAsJsonArray("waits").spliterator(), false))
            .map(wait -> words(wait.getAsJsonObject()))
            .toList();
  }

  private static String words(JsonObject wait) {
    return "%s: %s".formatted(wait.get("name").getAsString(), wait.get("detail").getAsString());
  }
}
