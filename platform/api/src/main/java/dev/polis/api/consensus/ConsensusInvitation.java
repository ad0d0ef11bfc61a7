package dev.polis.api.consensus;

import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Objects;

/**
 * Holds the data that a learner needs for its first start. It has the key of etcd's CA, because
 * each member issues its own certificates: a member that depended on another one for them could not
 * live without it. No secret is given away by that, since etcd replicates the key to all members.
 *
 * @param memberId the id of the learner, 1 to 16 hexadecimal digits
 * @param clusterId the id of the etcd cluster, in the same form
 * @param others the other members, each as {@code NAME=URL}
 * @param ca the certificate of etcd's CA
 * @param caKey its private key
 */
public record ConsensusInvitation(
    String memberId, String clusterId, List<String> others, X509Certificate ca, PrivateKey caKey) {
  public ConsensusInvitation {
    Objects.requireNonNull(memberId, "memberId");
    Objects.requireNonNull(clusterId, "clusterId");
    Objects.requireNonNull(ca, "ca");
    Objects.requireNonNull(caKey, "caKey");
    others = List.copyOf(others);
  }

  @Override
  public String toString() {
    return "ConsensusInvitation[member %s of cluster %s with %s, <secret key>]"
        .formatted(memberId, clusterId, others);
  }
}
