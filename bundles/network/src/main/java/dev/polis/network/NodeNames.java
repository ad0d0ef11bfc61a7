package dev.polis.network;

import dev.polis.api.network.NetworkStatus;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.pki.NodeId;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/**
 * Writes this node's name to a hosts file of its own. Thread-safe; it writes a file only if the
 * content changes.
 *
 * <p>The machine id of machine-id(5) is 32 hexadecimal digits, so it is the node id without its
 * prefix.
 */
final class NodeNames {

  private final FilePlacement hosts;
  private final FilePlacement machineId;
  private NodeId local; // null until published
  private NetworkStatus status = new NetworkStatus.Waiting("not polled yet");

  /** Reads the name that an earlier instance published, if there is one. */
  NodeNames(FilePlacement hosts, FilePlacement machineId) {
    this.hosts = hosts;
    this.machineId = machineId;
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

  synchronized void local(NodeId node) throws FileException {
    if (local != null && !local.equals(node)) {
      throw new IllegalStateException(
          "%s names this node %s, but the node is now %s; give each node its own state directory"
              .formatted(machineId, local.text(), node.text()));
    }
    write(machineId, node.hex() + "\n");
    local = node;
    write(hosts, content());
  }

  synchronized void status(NetworkStatus now) throws FileException {
    status = now;
    if (local != null) {
      write(hosts, content());
    }
  }

  private String content() {
    String lines = "127.0.0.1 localhost\n::1 localhost\n";
    return local != null && status instanceof NetworkStatus.Up(InetAddress address)
        ? lines + address.getHostAddress() + " " + local.text() + "\n"
        : lines;
  }

  private static void write(FilePlacement file, String content) throws FileException {
    byte[] wanted = content.getBytes(StandardCharsets.US_ASCII);
    boolean same =
        file.read() instanceof dev.polis.files.Stored.Present<byte[]>(var path, byte[] found)
            && Arrays.equals(found, wanted);
    if (!same) {
      file.write(wanted);
    }
  }
}
