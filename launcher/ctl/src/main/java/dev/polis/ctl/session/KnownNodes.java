package dev.polis.ctl.session;

import dev.polis.pki.CaBundle;
import dev.polis.pki.Fingerprint;
import dev.polis.pki.IdentityException;
import dev.polis.pki.NodeId;
import dev.polis.pki.PkiException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Remembers which node answered at an endpoint first, so that no other node of the cluster is taken
 * for it later. Each endpoint has a file of its own in the operator's folder, which names the node
 * and the fingerprint of the cluster's CA. Safe for any thread.
 */
final class KnownNodes {

  private final Path folder;

  /**
   * Reads and writes below a folder.
   *
   * @param folder the folder of the operator's key
   */
  KnownNodes(Path folder) {
    this.folder = folder.resolve("known-nodes");
  }

  /** Returns the file of an endpoint if it names this node. */
  Optional<Path> fileOf(String endpoint, NodeId node) {
    Path file = file(endpoint);
    try {
      return Files.exists(file) && CtlFiles.read(file, "").startsWith(node.text())
          ? Optional.of(file)
          : Optional.empty();
    } catch (CtlException unreadable) {
      return Optional.empty();
    }
  }

  /** Returns the node that has answered at an endpoint; empty if none is known. */
  Optional<NodeId> at(String endpoint) {
    try {
      return read(endpoint).map(Known::node);
    } catch (IdentityException unreadable) {
      return Optional.empty();
    }
  }

  private Path file(String endpoint) {
    return folder.resolve(endpoint);
  }

  /**
   * Returns the node that is meant by an endpoint, and remembers the node that answers if none is
   * known yet.
   *
   * @param ca the CAs of the cluster; nodes of an earlier cluster at this endpoint are forgotten
   * @param answering the node that answers
   * @throws PkiException if the file of the endpoint cannot be read or written
   */
  NodeId expected(String endpoint, CaBundle ca, NodeId answering) {
    Fingerprint cluster = Fingerprint.of(ca.issuing());
    Optional<Known> known = read(endpoint).filter(each -> each.isOf(ca));
    if (known.filter(each -> each.cluster().equals(cluster.hex())).isEmpty()) {
      write(endpoint, "%s %s%n".formatted(known.map(Known::node).orElse(answering), cluster));
    }
    return known.map(Known::node).orElse(answering);
  }

  /** Holds a line of a file. */
  private record Known(NodeId node, String cluster) {
    boolean isOf(CaBundle ca) {
      return ca.certificates().stream()
          .anyMatch(each -> Fingerprint.of(each).hex().equals(cluster));
    }
  }

  private Optional<Known> read(String endpoint) {
    Path file = file(endpoint);
    if (!Files.exists(file)) {
      return Optional.empty();
    }
    String[] words;
    try {
      words = CtlFiles.read(file, "make it readable, or remove it").strip().split(" ");
    } catch (CtlException unreadable) {
      throw new IdentityException(unreadable.getMessage(), unreadable);
    }
    if (words.length != 2 || !NodeId.matches(words[0])) {
      throw new IdentityException(
          "%s does not name a node and a CA; remove it, and the next answer is remembered"
              .formatted(file));
    }
    return Optional.of(new Known(NodeId.parse(words[0]), words[1]));
  }

  private void write(String endpoint, String line) {
    try {
      CtlFiles.write(file(endpoint), line.getBytes(StandardCharsets.UTF_8));
    } catch (CtlException unwritable) {
      throw new IdentityException(
          "the node at %s cannot be remembered: %s".formatted(endpoint, unwritable.getMessage()),
          unwritable);
    }
  }
}
