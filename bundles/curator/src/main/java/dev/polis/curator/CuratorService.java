package dev.polis.curator;

import com.google.protobuf.ByteString;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.curator.BootstrapOutcome;
import dev.polis.api.curator.BootstrapRequest;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorException;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.Network;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdException;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.logtree.Secret;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Subtree;
import io.grpc.BindableService;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.function.Consumer;

/** Bootstraps, and serves once it knows who this node is. */
final class CuratorService implements Curator, AutoCloseable {

  /** The etcd user, and the namespace, of the curator. */
  private static final String USER = "curator";

  private final Consensus consensus;
  private final CuratorAddress address;
  private final RpcHost rpc;
  private final Subtree subtree;
  private final Consumer<List<BindableService>> publish;
  private final Duration leaderTtl;
  private final MutableValue<CuratorStatus> status = new MutableValue<>(new CuratorStatus.Idle());
  private final CallStreams streams = new CallStreams();
  private final LeaderGate gate;
  private NodeCredentials serving; // null until asked to serve; guarded by this

  /**
   * Creates the service.
   *
   * @param rpc is told whose certificates are revoked
   * @param publish takes the gRPC services once there is something behind them
   * @param leaderTtl how long a dead leader's lock outlives it
   * @param port the port of the curator listener, as told to those who look for the leader
   */
  CuratorService(
      Consensus consensus,
      Network network,
      RpcHost rpc,
      Subtree subtree,
      Consumer<List<BindableService>> publish,
      Duration leaderTtl,
      int port) {
    this.consensus = consensus;
    this.gate = new LeaderGate(consensus.status());
    this.address = new CuratorAddress(network, port);
    this.rpc = rpc;
    this.subtree = subtree;
    this.publish = publish;
    this.leaderTtl = leaderTtl;
  }

  @Override
  public BootstrapOutcome bootstrap(BootstrapRequest request) throws InterruptedException {
    try (EtcdClient etcd = connect()) {
      CuratorPki pki = new CuratorPki(etcd, etcd.kv(), InstantSource.system());
      return new CuratorBootstrap(etcd.kv(), pki).run(request);
    } catch (RpcException | EtcdException | PkiException e) {
      throw new CuratorException(e.getMessage(), e);
    }
  }

  @Override
  public synchronized void serve(NodeCredentials credentials) {
    if (serving != null) {
      requireSame(serving, credentials);
      return;
    }
    serving = credentials;
    status.set(new CuratorStatus.Campaigning("the election begins"));
    CuratorElection election =
        new CuratorElection(
            this::connect, credentials.id(), leaderTtl, address, gate, status, System::nanoTime);
    subtree.run("election", election::run);
    subtree.run("revocations", new CuratorRevocations(this::connect, rpc)::run);
    publish.accept(services(credentials));
  }

  /** Refuses credentials of another node or cluster; a renewed certificate makes no difference. */
  private static void requireSame(NodeCredentials present, NodeCredentials other) {
    if (!present.id().equals(other.id())) {
      throw new CuratorException(
          "this curator serves for %s and cannot serve for %s too; restart the node"
              .formatted(present.id(), other.id()));
    }
    if (!present.ca().equals(other.ca())) {
      throw new CuratorException(
          "this curator serves %s in one cluster and cannot serve it in another, with another CA;"
                  .formatted(present.id())
              + " restart the node");
    }
  }

  private List<BindableService> services(NodeCredentials credentials) {
    ByteString clusterCa = ByteString.copyFrom(Pem.der(credentials.ca()));
    return List.of(
        new LeaderManagement(gate, new SecureRandom(), clusterCa),
        new LeaderAaa(gate),
        new LeaderCurator(gate, streams, consensus, InstantSource.system()),
        new LeaderEtcd(consensus),
        new CuratorDiscovery(credentials.id(), clusterCa, status, address, streams));
  }

  @Override
  public X509Certificate renew(NodeCredentials credentials) throws InterruptedException {
    try {
      return gate.require().pki().ensureNode(credentials.id(), credentials.publicKey());
    } catch (RpcException | EtcdException | PkiException e) {
      throw new CuratorException(
          "the certificate of %s cannot be renewed now: %s"
              .formatted(credentials.id(), e.getMessage()),
          e);
    }
  }

  @Override
  public Secret clusterUnlockKey(NodeCredentials credentials) throws InterruptedException {
    String id = credentials.id().text();
    try {
      ByteString half = gate.require().records().requireNode(id).getClusterUnlockKey();
      if (half.isEmpty()) {
        throw new CuratorException(
            "the record of %s holds no half of a volume key; its volume is not encrypted"
                .formatted(id));
      }
      return Secret.take(half.toByteArray());
    } catch (RpcException | EtcdException e) {
      throw new CuratorException(
          "the record of %s cannot be read now: %s".formatted(id, e.getMessage()), e);
    }
  }

  private EtcdClient connect() {
    return EtcdClient.connect(consensus.access(USER));
  }

  @Override
  public Value<CuratorStatus> status() {
    return status;
  }

  @Override
  public void close() {
    streams.close();
    gate.close();
  }
}
