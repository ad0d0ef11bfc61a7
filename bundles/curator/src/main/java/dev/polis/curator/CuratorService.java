package dev.polis.curator;

import com.google.protobuf.ByteString;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.curator.BootstrapOutcome;
import dev.polis.api.curator.BootstrapRequest;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorException;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.Network;
import dev.polis.boot.StopReason;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdException;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.StatusHealth;
import dev.polis.logtree.Secret;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import io.grpc.BindableService;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.InstantSource;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Writes the first records of a cluster, and campaigns for leadership once it has the node's
 * credentials. Thread-safe.
 */
final class CuratorService implements Curator {

  /** The etcd user, and the namespace, of the curator. */
  private static final String USER = "curator";

  /**
   * Holds what the organ works with.
   *
   * @param endpoints registers the gRPC services; called once, when serving begins
   * @param nanoTime a monotonic clock, for the age of heartbeats
   */
  record Parts(
      Consensus consensus,
      Network network,
      RpcHost rpc,
      Supervisor supervisor,
      HealthRegistry health,
      Consumer<List<BindableService>> endpoints,
      LongSupplier nanoTime) {}

  private final CuratorSettings settings;
  private final Parts parts;
  private final AdvertisedAddress address;
  private final Subtree subtree;
  private final HealthScope health;
  private final MutableValue<CuratorStatus> status = new MutableValue<>(new CuratorStatus.Idle());
  private final CallStreams streams = new CallStreams();
  private final LeaderGate gate;
  private NodeCredentials serving; // null until asked to serve; guarded by this

  /** Creates an idle curator, which waits for {@link #serve}. */
  CuratorService(CuratorSettings settings, Parts parts) {
    this.settings = settings;
    this.parts = parts;
    this.address = new AdvertisedAddress(parts.network(), settings.port());
    this.gate = new LeaderGate(parts.consensus().status());
    this.subtree = parts.supervisor().organ("curator");
    this.health = parts.health().organ("curator", subtree.dn());
    subtree.run("health", StatusHealth.task(status, health, CuratorHealth::of));
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
            this::connect,
            credentials.id(),
            settings.leaderTtl(),
            address,
            gate,
            status,
            parts.nanoTime());
    subtree.run("election", election::run);
    subtree.run("revocations", new RevocationWatch(this::connect, parts.rpc())::run);
    parts.endpoints().accept(endpoints(credentials));
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

  private List<BindableService> endpoints(NodeCredentials credentials) {
    ByteString clusterCa = ByteString.copyFrom(Pem.der(credentials.ca()));
    return List.of(
        new ManagementApi(gate, new SecureRandom(), clusterCa),
        new AaaApi(gate),
        new CuratorApi(gate, streams, parts.consensus(), InstantSource.system()),
        new EtcdApi(parts.consensus()),
        new CuratorLocalApi(credentials.id(), clusterCa, status, address, streams));
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
    return EtcdClient.connect(parts.consensus().access(USER));
  }

  @Override
  public Value<CuratorStatus> status() {
    return status;
  }

  /** Ends the streams, stops campaigning and gives the leadership back. */
  void close(StopReason reason) {
    health.close();
    streams.close();
    gate.close();
    subtree.close(reason);
  }
}
