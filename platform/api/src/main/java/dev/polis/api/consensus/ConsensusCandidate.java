package dev.polis.api.consensus;

import java.util.Objects;

/**
 * Describes a node that asks for a place in etcd.
 *
 * @param peerUrl the URL at which its etcd serves other members
 * @param memberId the id of the member whose data it has, 1 to 16 hexadecimal digits; empty without
 *     data
 */
public record ConsensusCandidate(String peerUrl, String memberId) {
  public ConsensusCandidate {
    Objects.requireNonNull(peerUrl, "peerUrl");
    Objects.requireNonNull(memberId, "memberId");
  }
}
