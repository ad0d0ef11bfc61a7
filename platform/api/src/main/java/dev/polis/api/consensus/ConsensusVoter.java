package dev.polis.api.consensus;

import java.util.Objects;

/**
 * Describes a member with a vote.
 *
 * @param name its name, which is the node id
 * @param up true if its etcd has just answered
 */
public record ConsensusVoter(String name, boolean up) {
  public ConsensusVoter {
    Objects.requireNonNull(name, "name");
  }
}
