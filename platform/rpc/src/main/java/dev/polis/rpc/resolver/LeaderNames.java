package dev.polis.rpc.resolver;

import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.base.values.WatcherClosedException;
import dev.polis.pki.NodeEndpoint;
import dev.polis.rpc.RpcClients;
import io.grpc.Attributes;
import io.grpc.ConnectivityState;
import io.grpc.EquivalentAddressGroup;
import io.grpc.ManagedChannel;
import io.grpc.NameResolver;
import io.grpc.NameResolverProvider;
import io.grpc.StatusOr;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeoutException;

/** Gives gRPC channels the leader's endpoint under the name {@link #TARGET}. */
final class LeaderNames extends NameResolverProvider {
  private static final String SCHEME = "polis";

  /** The name of the leader, whichever node leads. */
  static final String TARGET = SCHEME + ":///control";

  private final Value<NodeEndpoint> leader;
  private final Runnable refresh;
  private final Duration longest;
  private volatile ManagedChannel channel; // null until set

  private LeaderNames(Value<NodeEndpoint> leader, Runnable refresh, Duration longest) {
    this.leader = leader;
    this.refresh = refresh;
    this.longest = longest;
  }

  /**
   * Opens a channel to the leader, which connects to each new one at once, and to one that does not
   * answer again and again. By itself, gRPC would wait for the end of the pause after its last
   * attempt, which grows to two minutes.
   *
   * @param leader the leader
   * @param refresh called by a channel that could not connect
   * @param longest the longest pause between two attempts
   */
  static ManagedChannel dial(
      RpcClients clients, Value<NodeEndpoint> leader, Runnable refresh, Duration longest) {
    LeaderNames names = new LeaderNames(leader, refresh, longest);
    ManagedChannel channel = clients.dial(TARGET, names);
    names.channel = channel;
    return channel;
  }

  @Override
  protected boolean isAvailable() {
    return true;
  }

  @Override
  protected int priority() {
    return 5; // grpc-java's default; no other provider has this scheme
  }

  @Override
  public String getDefaultScheme() {
    return SCHEME;
  }

  @Override
  public Collection<Class<? extends SocketAddress>> getProducedSocketAddressTypes() {
    return Set.of(InetSocketAddress.class);
  }

  @Override
  public NameResolver newNameResolver(URI target, NameResolver.Args args) {
    // gRPC's contract: null means that another resolver owns the name.
    return target.getScheme().equals(SCHEME) ? new Names() : null;
  }

  /** Reports each leader to one channel. */
  private final class Names extends NameResolver {
    private final Watcher<NodeEndpoint> watcher = leader.watch();

    @Override
    public String getServiceAuthority() {
      return "control";
    }

    @Override
    public void start(Listener2 listener) {
      Thread.ofVirtual().name("resolver-channel").start(() -> report(listener));
    }

    private void report(Listener2 listener) {
      try {
        while (true) {
          Optional<NodeEndpoint> another = next();
          another.ifPresent(endpoint -> listener.onResult(result(endpoint)));
          if (channel != null && (another.isPresent() || fails(channel))) {
            channel.resetConnectBackoff();
          }
        }
      } catch (WatcherClosedException channelGone) {
        return;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    private static boolean fails(ManagedChannel channel) {
      return channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE;
    }

    /** Waits for another leader, for one pause at most. */
    private Optional<NodeEndpoint> next() throws InterruptedException {
      try {
        return Optional.of(watcher.get(longest));
      } catch (TimeoutException same) {
        return Optional.empty();
      }
    }

    private static ResolutionResult result(NodeEndpoint endpoint) {
      return ResolutionResult.newBuilder()
          .setAddressesOrError(StatusOr.fromValue(List.of(group(endpoint))))
          .build();
    }

    /** Returns the address with the node's id as its authority, which the handshake requires. */
    private static EquivalentAddressGroup group(NodeEndpoint endpoint) {
      return new EquivalentAddressGroup(
          endpoint.address(),
          Attributes.newBuilder()
              .set(EquivalentAddressGroup.ATTR_AUTHORITY_OVERRIDE, endpoint.node().text())
              .build());
    }

    @Override
    public void refresh() {
      refresh.run();
    }

    @Override
    public void shutdown() {
      watcher.close();
    }
  }
}
