package dev.polis.api.consensus;

import java.util.Objects;

/**
 * Describes the member whose record this node's disk has.
 *
 * @param memberId its id, 1 to 16 hexadecimal digits; empty while the node bootstraps a cluster
 * @param learner true if it was invited and has had no vote yet; otherwise it starts without help
 *     of another node
 * @param alone true if its cluster had no other member at the last check, so that it needs no other
 *     member to serve
 */
public record LocalMember(String memberId, boolean learner, boolean alone) {
  public LocalMember {
    Objects.requireNonNull(memberId, "memberId");
  }
}
