package dev.polis.api.consensus;

import java.util.List;

/** Lists the states of the local member of consensus. */
public sealed interface ConsensusStatus {

  /** Returns it as one line for people. */
  String text();

  /** No organ has asked for a member, or it has stopped. */
  record Stopped() implements ConsensusStatus {
    @Override
    public String text() {
      return "consensus is stopped";
    }
  }

  /**
   * On its way.
   *
   * @param waitingFor what it waits for, as text
   */
  record Starting(String waitingFor) implements ConsensusStatus {
    @Override
    public String text() {
      return "consensus waits for " + waitingFor;
    }
  }

  /**
   * The member serves.
   *
   * @param memberName its name in etcd, which is the node id
   * @param memberId its id, 1 to 16 hexadecimal digits, as etcd's own tools print it
   * @param clusterId the cluster's id, in the same form
   * @param endpoints client URLs of the members known to this one, its own first
   * @param alarms raised alarms as {@code KIND at member id}; with NOSPACE nothing can be written
   */
  record Running(
      String memberName,
      String memberId,
      String clusterId,
      List<String> endpoints,
      List<String> alarms)
      implements ConsensusStatus {
    public Running {
      endpoints = List.copyOf(endpoints);
      alarms = List.copyOf(alarms);
    }

    @Override
    public String text() {
      String text = "consensus runs as member " + memberId + " of cluster " + clusterId;
      return alarms.isEmpty() ? text : text + "; alarms: " + String.join(", ", alarms);
    }
  }

  /**
   * The last attempt to start failed. Another one follows by itself, later each time.
   *
   * @param reason what was wrong, with the offending value, and what to do next
   */
  record Failed(String reason) implements ConsensusStatus {
    @Override
    public String text() {
      return "consensus failed: " + reason;
    }
  }
}
