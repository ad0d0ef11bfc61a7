package dev.polis.rpc;

import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.NameResolver;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.ChannelOption;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Opens gRPC channels to nodes. The maker of a channel shuts it down.
 *
 * <p>A channel presents an identity or none, and accepts only the servers that its {@link RpcTrust}
 * allows.
 */
public final class RpcClients {
  /**
   * The keep-alive interval of existing clients, with which a client notices a dead peer within 15
   * s.
   */
  private static final int KEEP_ALIVE_SECONDS = 10;

  private static final int KEEP_ALIVE_ANSWER_SECONDS = 5;

  /**
   * The time for a TCP connection to a node. A kernel repeats a lost first packet after 1, 3, 7 and
   * 15 s; a connection that begins while the network is cut would learn late that it is back.
   */
  private static final int CONNECT_MILLIS = 2_000;

  /** The largest answer that a client accepts; a chunk of the node list has about 2 MiB. */
  private static final int MESSAGE_BYTES = 16 << 20;

  private static final Executor EXECUTOR =
      Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("rpc-client-", 0).factory());

  private final TlsKeys keys;
  private final RpcTrust trust;

  private RpcClients(TlsKeys keys, RpcTrust trust) {
    this.keys = keys;
    this.trust = trust;
  }

  /** Returns clients that present the certificate of a node or a user. */
  public static RpcClients authenticated(TlsIdentity identity, RpcTrust trust) {
    return new RpcClients(TlsKeys.fixed(identity), trust);
  }

  /** Returns clients that present the newest certificate of a supplier, at each new connection. */
  public static RpcClients authenticated(Supplier<TlsIdentity> newest, RpcTrust trust) {
    return new RpcClients(new TlsKeys(() -> Optional.of(newest.get())), trust);
  }

  /** Returns clients that present a self-signed certificate, which proves only a key. */
  public static RpcClients ephemeral(KeyPair pair, RpcTrust trust) {
    TlsIdentity identity =
        TlsIdentity.of(
            pair.getPrivate(), CertificateAuthority.selfSigned(pair, InstantSource.system()));
    return authenticated(identity, trust);
  }

  /** Returns clients that present no certificate. */
  public static RpcClients anonymous(RpcTrust trust) {
    return new RpcClients(new TlsKeys(Optional::empty), trust);
  }

  /** Opens a channel without TLS, for the debug listener. */
  public static ManagedChannel plaintext(InetSocketAddress address) {
    return usual(() -> NettyChannelBuilder.forAddress(address)).usePlaintext().build();
  }

  /** Opens a channel to one address. */
  public ManagedChannel dial(InetSocketAddress address) {
    return secured(() -> NettyChannelBuilder.forAddress(address), trust.manager()).build();
  }

  /** Opens a channel to one node, which accepts no other peer at its address. */
  public ManagedChannel dial(NodeEndpoint endpoint) {
    return toNode(() -> NettyChannelBuilder.forAddress(endpoint.address()))
        .overrideAuthority(endpoint.node().text())
        .build();
  }

  /**
   * Opens a channel to the current endpoint of a name, which accepts only the node that the
   * endpoint names as its authority. Calls wait until their deadline while the name has no address,
   * or no server answers there: give each call a deadline.
   *
   * @param target the name, a URI whose scheme the resolver knows
   * @param names resolves it
   */
  // A resolver for this channel alone; a registry for the whole process would mix clusters.
  @SuppressWarnings("deprecation")
  public ManagedChannel dial(String target, NameResolver.Factory names) {
    return toNode(() -> NettyChannelBuilder.forTarget(target))
        .nameResolverFactory(names)
        .intercept(new Patient())
        .build();
  }

  private NettyChannelBuilder toNode(Supplier<NettyChannelBuilder> channel) {
    return secured(channel, trust.endpointManager())
        .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS);
  }

  private NettyChannelBuilder secured(
      Supplier<NettyChannelBuilder> channel, X509ExtendedTrustManager manager) {
    return usual(channel).sslContext(NettyTls.client(keys, manager));
  }

  private static NettyChannelBuilder usual(Supplier<NettyChannelBuilder> channel) {
    return RpcClientThreads.assign(channel)
        .executor(EXECUTOR)
        .maxInboundMessageSize(MESSAGE_BYTES)
        .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
        .keepAliveTimeout(KEEP_ALIVE_ANSWER_SECONDS, TimeUnit.SECONDS)
        .keepAliveWithoutCalls(true);
  }

  /** Lets calls wait for a connection, since a name may have no address yet, or an old one. */
  private static final class Patient implements ClientInterceptor {
    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(
        MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
      return next.newCall(method, options.withWaitForReady());
    }
  }
}
