package dev.polis.api.consensus;

import java.util.List;

/**
 * Describes one member of the cluster's etcd.
 *
 * @param name its name, which is the node id; empty for a member that has never started
 * @param id its id, 1 to 16 hexadecimal digits
 * @param clusterId the id of the cluster, in the same form
 * @param peerUrls its URLs for other members
 * @param clientUrls its URLs for clients; empty for a member that has never started
 * @param learner true if it is a learner, which has no vote yet
 */
public record ConsensusMember(
    String name,
    String id,
    String clusterId,
    List<String> peerUrls,
    List<String> clientUrls,
    boolean learner) {
  public ConsensusMember {
    peerUrls = List.copyOf(peerUrls);
    clientUrls = List.copyOf(clientUrls);
  }
}
