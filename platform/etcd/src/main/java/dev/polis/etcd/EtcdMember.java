package dev.polis.etcd;

import java.util.List;

/**
 * Describes a member of the etcd cluster.
 *
 * @param id id at etcd, an unsigned number
 * @param name its name, empty if it has never started
 * @param peerUrls its URLs for other members
 * @param clientUrls its URLs for clients, empty if it has never started
 * @param learner true while it has no vote
 */
public record EtcdMember(
    long id, String name, List<String> peerUrls, List<String> clientUrls, boolean learner) {

  public EtcdMember {
    peerUrls = List.copyOf(peerUrls);
    clientUrls = List.copyOf(clientUrls);
  }

  /** Returns the id as etcd prints it. */
  public String hexId() {
    return Long.toHexString(id);
  }

  /** Returns whether the member has ever started. */
  public boolean hasStarted() {
    return !name.isEmpty();
  }
}
