package dev.polis.network;

import dev.polis.api.network.NetworkStatus;
import dev.polis.files.AtomicFile;
import dev.polis.files.AtomicFile.Durability;
import dev.polis.files.FilePlacement;
import dev.polis.files.Mode;
import dev.polis.pki.NodeId;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Writes the names of this node and of its cluster to a hosts file of its own. Thread-safe; it
 * writes a file only if the content changes.
 *
 * <p>The machine id of machine-id(5) is 32 hexadecimal digits, so it is the node id without its
 * prefix.
 */
final class NodeNames {

  private final FilePlacement hosts;
  private final FilePlacement machineId;
  private final String folder;
  private NodeId local; // null until published
  private Map<NodeId, InetAddress> cluster;
  private NetworkStatus status = new NetworkStatus.Waiting("not polled yet");

  /**
   * Reads the name that an earlier instance published, if there is one.
   *
   * @param folder where other programs read the same files; empty for none
   * @param cluster the names that it had of the cluster
   */
  NodeNames(
      FilePlacement hosts,
      FilePlacement machineId,
      String folder,
      Map<NodeId, InetAddress> cluster) {
    this.hosts = hosts;
    this.machineId = machineId;
    this.folder = folder;
    this.cluster = Map.copyOf(cluster);
    this.local = former().orElse(null);
  }

  private Optional<NodeId> former() {
    if (machineId.read()
        instanceof dev.polis.files.Stored.Present<byte[]>(var path, byte[] bytes)) {
      String hex = new String(bytes, StandardCharsets.US_ASCII).strip();
      return NodeId.matches(NodeId.PREFIX + hex)
          ? Optional.of(NodeId.ofHex(hex))
          : Optional.empty();
    }
    return Optional.empty();
  }

  /** Returns the node's name, once it is published. */
  synchronized Optional<String> name() {
    return Optional.ofNullable(local).map(NodeId::text);
  }

  synchronized void local(NodeId node) throws IOException {
    if (local != null && !local.equals(node)) {
      throw new IllegalStateException(
          "%s names this node %s, but the node is now %s; give each node its own state directory"
              .formatted(machineId, local.text(), node.text()));
    }
    write(machineId, node.hex() + "\n");
    local = node;
    write(hosts, content());
  }

  synchronized void status(NetworkStatus now) throws IOException {
    status = now;
    if (local != null) {
      write(hosts, content());
    }
  }

  /** Takes the nodes of the cluster in place of the former ones, which may be gone. */
  synchronized void cluster(Map<NodeId, InetAddress> nodes) throws IOException {
    cluster = Map.copyOf(nodes);
    write(hosts, content());
  }

  /** Returns the nodes of the cluster. */
  synchronized Map<NodeId, InetAddress> cluster() {
    return cluster;
  }

  private String content() {
    // The node knows its own address first, and the records may have a former one.
    Map<String, InetAddress> named = new TreeMap<>();
    cluster.forEach((node, address) -> named.put(node.text(), address));
    if (local != null) {
      named.remove(local.text());
    }
    StringBuilder lines = new StringBuilder("127.0.0.1 localhost\n::1 localhost\n");
    if (local != null && status instanceof NetworkStatus.Up(InetAddress address)) {
      lines.append(line(address, local.text()));
    }
    named.forEach((name, address) -> lines.append(line(address, name)));
    return lines.toString();
  }

  private static String line(InetAddress address, String name) {
    return address.getHostAddress() + " " + name + "\n";
  }

  private void write(FilePlacement file, String content) throws IOException {
    byte[] wanted = content.getBytes(StandardCharsets.US_ASCII);
    boolean same =
        file.read() instanceof dev.polis.files.Stored.Present<byte[]>(var path, byte[] found)
            && Arrays.equals(found, wanted);
    if (!same) {
      file.write(wanted);
    }
    if (!folder.isEmpty()) {
      // Not forced: the folder is in memory, and each start writes it anew.
      AtomicFile.replace(
          Path.of(folder).resolve(file.path().getFileName()),
          wanted,
          Mode.PUBLIC,
          Durability.PROCESS);
    }
  }
}
