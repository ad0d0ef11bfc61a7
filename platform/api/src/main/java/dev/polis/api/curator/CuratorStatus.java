package dev.polis.api.curator;

import dev.polis.pki.NodeId;
import java.util.Objects;

/** Lists the states of the local curator. */
public sealed interface CuratorStatus {

  /** Returns the state in one line, for people. */
  String describe();

  /** Means that no organ has requested service. */
  record Idle() implements CuratorStatus {
    @Override
    public String describe() {
      return "idle: waits for this node's credentials";
    }
  }

  /**
   * Means that no leader is known: an election is running, or etcd cannot be reached.
   *
   * @param reason the awaited event, for people
   */
  record Campaigning(String reason) implements CuratorStatus {
    public Campaigning {
      Objects.requireNonNull(reason, "reason");
    }

    @Override
    public String describe() {
      return "no leader known: " + reason;
    }
  }

  /**
   * Means that this node leads.
   *
   * @param fencingToken the etcd revision at which leadership was won; grows with every leader
   */
  record Leading(long fencingToken) implements CuratorStatus {
    @Override
    public String describe() {
      return "leading since etcd revision " + fencingToken;
    }
  }

  /**
   * Means that another node leads.
   *
   * @param leader that node
   * @param host IP address of its curator; empty if unknown
   * @param port TCP port of its curator
   */
  record Following(NodeId leader, String host, int port) implements CuratorStatus {
    public Following {
      Objects.requireNonNull(leader, "leader");
      Objects.requireNonNull(host, "host");
    }

    @Override
    public String describe() {
      return "following " + leader;
    }
  }
}
