package dev.polis.convergence;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.ConsensusUser;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.etcd.EtcdAccess;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcPeer;
import dev.polis.rpc.RpcRegistration;
import dev.polis.rpc.RpcSettings;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.PluginSetGrpc;
import dev.polis.wire.cluster.ReportPluginsRequest;
import dev.polis.wire.cluster.ReportPluginsResponse;
import dev.polis.wire.cluster.WatchPluginSetRequest;
import dev.polis.wire.cluster.WatchPluginSetResponse;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import io.grpc.BindableService;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

/** Stands for a curator over TLS: serves the wanted set of a test and records a node's reports. */
final class TestCluster implements AutoCloseable {
  final LogTree logs = LogTree.create();
  final CertificateAuthority authority = CertificateAuthority.create("test cluster");
  final NodeCredentials self = member();
  final MutableValue<WatchPluginSetResponse> wanted = new MutableValue<>();
  final List<PluginReport> reports = new CopyOnWriteArrayList<>();
  private final LocalRpcHost host = host(self);

  TestCluster() {
    host.serve(RpcHost.CURATOR, new PluginSet());
    host.serve(RpcHost.CURATOR, new Discovery());
  }

  /** Makes the credentials of another node. */
  NodeCredentials member() {
    KeyPair pair = Ed25519.generate();
    return new NodeCredentials(
        pair.getPrivate(), authority.issueNode(pair.getPublic()), authority.certificate());
  }

  private LocalRpcHost host(NodeCredentials as) {
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    LocalRpcHost opened =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(RpcHost.CURATOR, any, true),
                    new RpcSettings.Listener(RpcHost.MANAGEMENT, any, true)),
                RpcSettings.Limits.DEFAULT),
            logs);
    opened.identify(as);
    return opened;
  }

  /** Stands for another node that serves a service on its management listener. */
  record OtherNode(NodeCredentials credentials, LocalRpcHost host, RpcRegistration serving)
      implements AutoCloseable {
    String id() {
      return credentials.id().text();
    }

    String address() {
      return "127.0.0.1:" + host.address(RpcHost.MANAGEMENT).getPort();
    }

    @Override
    public void close() {
      host.close();
    }
  }

  OtherNode other(BindableService service) {
    NodeCredentials credentials = member();
    LocalRpcHost opened = host(credentials);
    return new OtherNode(credentials, opened, opened.serve(RpcHost.MANAGEMENT, service));
  }

  InetSocketAddress address() {
    return host.address(RpcHost.CURATOR);
  }

  /** Returns the cluster manager of a node that is a member. */
  ClusterManager manager() {
    return new ClusterManager() {
      private final ClusterStatus home =
          new ClusterStatus() {
            @Override
            public ClusterState state() {
              return ClusterState.HOME;
            }

            @Override
            public String reason() {
              return "a test";
            }

            @Override
            public Optional<NodeCredentials> credentials() {
              return Optional.of(self);
            }

            @Override
            public boolean hasLocalConsensus() {
              return false;
            }

            @Override
            public EtcdAccess consensusClient(ConsensusUser user) {
              throw new AssertionError("this organ uses no etcd");
            }
          };

      @Override
      public Value<ClusterStatus> status() {
        return new MutableValue<>(home);
      }

      @Override
      public ClusterStatus awaitHome() {
        return home;
      }
    };
  }

  private final class PluginSet extends PluginSetGrpc.PluginSetImplBase {
    @Override
    public void watchPluginSet(
        WatchPluginSetRequest request, StreamObserver<WatchPluginSetResponse> caller) {
      try (var watcher = wanted.watch()) {
        while (true) {
          caller.onNext(watcher.get());
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    @Override
    public void reportPlugins(
        ReportPluginsRequest request, StreamObserver<ReportPluginsResponse> caller) {
      RpcPeer.current().requireNode();
      reports.add(request.getReport());
      caller.onNext(ReportPluginsResponse.getDefaultInstance());
      caller.onCompleted();
    }
  }

  private final class Discovery extends CuratorLocalGrpc.CuratorLocalImplBase {
    @Override
    public void getCurrentLeader(
        GetCurrentLeaderRequest request, StreamObserver<GetCurrentLeaderResponse> caller) {
      caller.onNext(
          GetCurrentLeaderResponse.newBuilder()
              .setLeaderNodeId(self.id().text())
              .setThisNodeId(self.id().text())
              .setLeaderHost(address().getAddress().getHostAddress())
              .setLeaderPort(address().getPort())
              .build());
      try {
        new CountDownLatch(1).await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public void close() {
    host.close();
  }
}
