package dev.polis.api.network;

import dev.polis.event.Value;
import dev.polis.pki.NodeId;
import java.io.IOException;
import java.net.InetAddress;
import java.util.Map;
import org.osgi.annotation.versioning.ProviderType;

/** The node's network. Thread-safe. */
@ProviderType
public interface Network {

  /**
   * Whether the node has an address. It always has a value, and changes when the address comes and
   * goes.
   */
  Value<NetworkStatus> status();

  /**
   * Says who this node is: from now on its id resolves through the hosts file to the current
   * address, follows that address, and the machine id is derived from it. Idempotent; survives a
   * restart of the service.
   *
   * @throws IOException if the files cannot be written; nothing was changed then
   * @throws IllegalStateException if another node's name was published from this state directory
   *     before
   */
  void publishLocalName(NodeId node) throws IOException;

  /**
   * Says where the other nodes are; replaces what was said before. This node's own entry is
   * ignored: its address is known better here.
   *
   * @throws IOException if the hosts file cannot be written; the former one is still there then
   */
  void publishPeers(Map<NodeId, InetAddress> peers) throws IOException;
}
