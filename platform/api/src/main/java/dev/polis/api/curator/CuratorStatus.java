package dev.polis.api.curator;

import dev.polis.pki.NodeId;
import java.util.Objects;

/** Lists the states of the local curator. */
public sealed interface CuratorStatus {

  /** Returns the state in one line, for people. */
  String describe();

  /** Not asked to serve yet. */
  record Idle() implements CuratorStatus {
    @Override
    public String describe() {
      return "idle: waits for this node's credentials";
    }
  }

  /**
   * No leader is known: an election is under way, or etcd cannot be reached.
   *
   * @param reason what it waits for, for people
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
   * This node leads.
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
   * Another node leads.
   *
   * @param leader that node
   * @param host IP address of its curator; empty text if the leader did not say
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
