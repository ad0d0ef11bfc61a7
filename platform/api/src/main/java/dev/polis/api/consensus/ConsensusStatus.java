package dev.polis.api.consensus;

import java.util.List;

/** Lists the states of the local member of consensus. */
public sealed interface ConsensusStatus {

  /** Returns the state as one line for people. */
  String text();

  /** Means that no organ has requested a member, or that the member has stopped. */
  record Stopped() implements ConsensusStatus {
    @Override
    public String text() {
      return "consensus is stopped";
    }
  }

  /**
   * Means that the member is starting.
   *
   * @param waitingFor the awaited event, as text
   */
  record Starting(String waitingFor) implements ConsensusStatus {
    @Override
    public String text() {
      return "consensus waits for " + waitingFor;
    }
  }

  /**
   * Means that the member serves.
   *
   * @param memberName its name in etcd, which is the node id
   * @param memberId its id, 1 to 16 hexadecimal digits, as etcd's own tools print it
   * @param clusterId the cluster's id, in the same form
   * @param endpoints client URLs of the members known to this one, its own first
   * @param alarms raised alarms as {@code KIND at member id}; with NOSPACE etcd refuses writes
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
   * Means that the last attempt to start failed; the next one follows automatically after a growing
   * pause.
   *
   * @param reason the fault, the offending value and the remedy
   */
  record Failed(String reason) implements ConsensusStatus {
    @Override
    public String text() {
      return "consensus failed: " + reason;
    }
  }
}
