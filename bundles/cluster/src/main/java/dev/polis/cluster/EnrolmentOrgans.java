package dev.polis.cluster;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.Wait;
import dev.polis.base.values.Watcher;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.rpc.HostPort;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcRevocations;
import dev.polis.wire.net.Net;
import java.io.IOException;
import java.net.InetAddress;
import java.security.PrivateKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeoutException;

/**
 * Holds the organs that the manager drives, and waits for each.
 *
 * @param storage the disk
 * @param network the address
 * @param consensus etcd
 * @param curator the records
 * @param rpc the listeners
 * @param boot the launcher
 * @param readyWithin the time for consensus to become ready
 */
record EnrolmentOrgans(
    Storage storage,
    Network network,
    Consensus consensus,
    Curator curator,
    RpcHost rpc,
    BootReport boot,
    Duration readyWithin) {

  /** The text that operators search in a log after a failed start of etcd. */
  private static final String NOT_READY = "consensus service failed to become ready";

  /** Says how voters come back that were off at the same time. */
  private static final String ALONE =
      "; most of the voters must be up: one that waits for the key of its volume needs the owner's"
          + " recovery key, too (polis down, then polis up --recovery-key FILE)";

  /** Applies the network configuration of the parameters, or refuses it with its fields. */
  String configure(Net configuration) throws IOException, InterruptedException {
    network.configure(configuration);
    return configuration.getInterfaceCount() + " interfaces";
  }

  /** Waits without a limit until the node has an address. */
  InetAddress awaitAddress(Wait wait) throws InterruptedException {
    try (Watcher<NetworkStatus> watcher = network.status().watch()) {
      while (true) {
        switch (watcher.get()) {
          case NetworkStatus.Up(InetAddress address) -> {
            wait.done(HostPort.host(address));
            return address;
          }
          case NetworkStatus.Waiting(String reason) -> wait.detail(reason);
        }
      }
    }
  }

  /**
   * Waits until the node has an address, and then some seconds for a time server, if this node
   * keeps the clock: the next steps judge certificates, or make some.
   */
  InetAddress awaitNetwork(EnrolmentSteps steps) throws InterruptedException {
    InetAddress address = steps.step("network address", this::awaitAddress);
    if (keepsClock()) {
      steps.step("time server", this::awaitClock);
    }
    return address;
  }

  /**
   * Returns whether the node keeps the machine's clock, by the servers of earlier parameters too.
   */
  boolean keepsClock() {
    return !(network.clock().peek().orElseThrow() instanceof ClockStatus.NotKept);
  }

  private String awaitClock(Wait wait) throws InterruptedException {
    try (Watcher<ClockStatus> watcher = network.clock().watch()) {
      ClockStatus now =
          watcher.get(
              status -> {
                if (status instanceof ClockStatus.Searching(String reason, boolean late)) {
                  wait.detail(reason);
                  return late;
                }
                return true;
              },
              ClockStatus.PATIENCE);
      return switch (now) {
        case ClockStatus.Synchronised(String server, _, _) -> "the clock follows " + server;
        case ClockStatus.Searching(String reason, _) -> "continues without one: " + reason;
        case ClockStatus.NotKept(String reason, _) -> "continues without one: " + reason;
      };
    } catch (TimeoutException silent) {
      return "continues without one: none has answered in %d s"
          .formatted(ClockStatus.PATIENCE.toSeconds());
    }
  }

  /**
   * Takes the time servers of the parameters, or refuses them. If they name none, those of earlier
   * ones end.
   */
  String keepClock(List<String> timeServers) throws IOException, InterruptedException {
    network.keepClock(timeServers);
    return timeServers.isEmpty() ? "none" : String.join(", ", timeServers);
  }

  String startNewConsensus(PrivateKey nodeKey, Wait wait) throws InterruptedException {
    consensus.startNew(ConsensusIdentity.of(nodeKey));
    return awaitConsensus(wait);
  }

  /** Returns whether this node's disk has a member of etcd that starts without help of others. */
  boolean hasVoter() {
    return consensus.localMember().filter(member -> !member.learner()).isPresent();
  }

  /**
   * Starts the member on the disk. A member that is alone must be ready in time; one of several
   * waits without a limit for a quorum of them.
   *
   * @return the member, or the news that the others have removed it
   */
  String startExistingConsensus(PrivateKey nodeKey, Wait wait) throws InterruptedException {
    // Before the start: etcd may find at once that the others have removed it, and lose its record.
    boolean alone = consensus.localMember().filter(member -> !member.alone()).isEmpty();
    consensus.startExisting(ConsensusIdentity.of(nodeKey));
    return alone ? awaitConsensus(wait) : awaitQuorum(wait);
  }

  private String awaitQuorum(Wait wait) throws InterruptedException {
    try (Watcher<ConsensusStatus> watcher = consensus.status().watch()) {
      while (true) {
        switch (watcher.get()) {
          case ConsensusStatus.Running running -> {
            return "member " + running.memberId();
          }
          case ConsensusStatus.Stopped _ -> {
            return "the others have removed the member of this node";
          }
          case ConsensusStatus.Starting starting -> wait.detail(starting.text() + remedy());
          case ConsensusStatus.Failed failed -> wait.detail(failed.text() + remedy());
        }
      }
    }
  }

  /** Returns what an operator does if the volumes of the other voters are not open. */
  private String remedy() {
    return storage.data().peek().orElseThrow() instanceof DataStatus.Mounted mounted
            && mounted.security() != StorageSecurity.INSECURE
        ? ALONE
        : "";
  }

  private String awaitConsensus(Wait wait) throws InterruptedException {
    consensus.status().peek().ifPresent(status -> wait.detail(status.text()));
    try {
      return "member " + consensus.awaitRunning(readyWithin).memberId();
    } catch (ConsensusException e) {
      throw new EnrolmentException(NOT_READY + ": " + e.getMessage(), e);
    }
  }

  /** Returns the file of the cluster's revocation list. */
  RevocationFile revocations() {
    return new RevocationFile(storage.root().data().node().credentials().revocations());
  }

  /** Returns the file of the proof that the cluster has removed this node. */
  RemovalFile removal() {
    return new RemovalFile(storage.root().esp().removal());
  }

  /**
   * Opens the node's listeners and waits until the curator answers.
   *
   * @param curators those to follow; empty if this node keeps the records itself
   */
  void serve(
      NodeCredentials credentials,
      RpcRevocations revocations,
      Set<NodeEndpoint> curators,
      EnrolmentSteps steps)
      throws InterruptedException {
    steps.step(
        "listeners",
        wait -> {
          rpc.identify(credentials, revocations);
          return credentials.id().text();
        });
    steps.step(
        "curator",
        wait -> {
          if (curators.isEmpty()) {
            curator.serve(credentials);
          } else {
            curator.follow(credentials, curators);
          }
          return awaitLeader(wait);
        });
  }

  private String awaitLeader(Wait wait) throws InterruptedException {
    try (Watcher<CuratorStatus> watcher = curator.status().watch()) {
      while (true) {
        CuratorStatus status = watcher.get();
        switch (status) {
          case CuratorStatus.Leading leading -> {
            return leading.describe();
          }
          case CuratorStatus.Following following -> {
            return following.describe();
          }
          case CuratorStatus.Campaigning campaigning -> wait.detail(campaigning.describe());
          case CuratorStatus.Idle idle -> wait.detail(idle.describe());
        }
      }
    }
  }

  /** Returns whether a TPM can seal what this node keeps outside of its volume. */
  boolean hasTpm() {
    return storage.machineShare().possible();
  }

  /** Returns the address of this node; empty while it has none. */
  Optional<InetAddress> address() {
    return network
        .status()
        .peek()
        .flatMap(
            now ->
                now instanceof NetworkStatus.Up(InetAddress own)
                    ? Optional.of(own)
                    : Optional.empty());
  }

  ClusterSnapshot.Membership membership(NodeCredentials credentials, boolean localConsensus) {
    return new ClusterSnapshot.Membership(
        credentials, localConsensus, user -> consensus.access(user.userName()));
  }

  /**
   * Describes the node's address, the protection of its data volume, and the owner's next repair.
   */
  String summary(NodeCredentials credentials) {
    List<String> lines = new ArrayList<>();
    lines.add(place(credentials));
    if (storage.data().peek().orElseThrow() instanceof DataStatus.Mounted mounted) {
      lines.add("data volume: " + mounted.describe());
    }
    storage
        .recovery()
        .advice()
        .ifPresent(advice -> lines.add("WARNING: " + advice.reason() + "; " + advice.remedy()));
    return String.join("\n", lines);
  }

  private String place(NodeCredentials credentials) {
    NodeId id = credentials.id();
    String address =
        network.status().peek().orElseThrow() instanceof NetworkStatus.Up up
            ? HostPort.host(up.externalAddress())
            : "no address";
    return "node %s is HOME at %s".formatted(id, address);
  }
}
