package dev.polis.etcd;

import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import javax.net.ssl.SSLException;

/** Opens one channel to each member, on an event loop of their own. */
final class EtcdChannels implements AutoCloseable {

  /**
   * Pairs a member with the channel to it.
   *
   * @param leading the same channel, for calls that need a member with a leader
   */
  record Member(EtcdEndpoint endpoint, ManagedChannel channel, Channel leading) {
    static Member of(EtcdEndpoint endpoint, ManagedChannel channel) {
      Metadata metadata = new Metadata();
      metadata.put(REQUIRE_LEADER, "true");
      return new Member(
          endpoint,
          channel,
          ClientInterceptors.intercept(
              channel, MetadataUtils.newAttachHeadersInterceptor(metadata)));
    }

    @Override
    public String toString() {
      return endpoint.toString();
    }
  }

  private static final Metadata.Key<String> REQUIRE_LEADER =
      Metadata.Key.of("hasleader", Metadata.ASCII_STRING_MARSHALLER);

  // The least that grpc allows; a watch on a dead link is found sooner by WatchStreams' own probe.
  private static final long KEEP_ALIVE_SECONDS = 10;
  private static final long KEEP_ALIVE_TIMEOUT_SECONDS = 3;
  private static final long EVENT_LOOP_QUIET_MILLIS = 0;
  private static final long EVENT_LOOP_STOP_MILLIS = 2000;
  private static final int CONNECT_TIMEOUT_MILLIS = 2000;

  /**
   * The cipher suites, ChaCha20 first, which etcd follows. A node's JVM compiles with C1 alone,
   * which has no instructions for AES and GHASH: with AES a small record costs twice as much, and a
   * large one five times as much.
   */
  private static final List<String> CIPHERS =
      List.of("TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384");

  private static final ApplicationProtocolConfig HTTP_2 =
      new ApplicationProtocolConfig(
          ApplicationProtocolConfig.Protocol.ALPN,
          ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
          ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
          ApplicationProtocolNames.HTTP_2);

  private final EventLoopGroup eventLoop =
      new MultiThreadIoEventLoopGroup(
          1, new DefaultThreadFactory("polis-etcd-io", true), NioIoHandler.newFactory());
  private final Queue<ManagedChannel> opened = new ConcurrentLinkedQueue<>();
  private final Consumer<NettyChannelBuilder> security;

  EtcdChannels(EtcdAccess access) {
    this.security =
        access
            .identity()
            .map(EtcdChannels::sslContext)
            .<Consumer<NettyChannelBuilder>>map(tls -> builder -> builder.sslContext(tls))
            .orElse(NettyChannelBuilder::usePlaintext);
  }

  Member open(EtcdEndpoint endpoint) {
    NettyChannelBuilder builder =
        NettyChannelBuilder.forAddress(new InetSocketAddress(endpoint.host(), endpoint.port()))
            .eventLoopGroup(eventLoop)
            .channelType(NioSocketChannel.class)
            .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS)
            // All callbacks are short and never block, so they run on the event loop.
            .directExecutor()
            .disableServiceConfigLookUp()
            .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(KEEP_ALIVE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
            // A list of the whole key space must fit; etcd bounds it by its own quota.
            .maxInboundMessageSize(Integer.MAX_VALUE)
            .overrideAuthority(authority(endpoint));
    security.accept(builder);
    ManagedChannel channel = builder.build();
    opened.add(channel);
    return Member.of(endpoint, channel);
  }

  private static String authority(EtcdEndpoint endpoint) {
    String name = endpoint.serverName();
    return (name.indexOf(':') < 0 ? name : "[" + name + "]") + ":" + endpoint.port();
  }

  /**
   * Returns a context of the JDK's TLS, the only provider that knows Ed25519. It is made without
   * gRPC's help, which keeps an exception with the classes of its caller.
   */
  private static SslContext sslContext(Supplier<EtcdTls> newest) {
    try {
      return new EtcdSslContext(
          SslContextBuilder.forClient()
              .sslProvider(SslProvider.JDK)
              .applicationProtocolConfig(HTTP_2)
              .protocols("TLSv1.3")
              .ciphers(CIPHERS)
              .keyManager(new EtcdKeyManager(newest))
              .trustManager(new EtcdTrustManager(newest))
              .build());
    } catch (SSLException unusable) {
      throw new IllegalArgumentException(
          "the etcd client's key or certificate cannot be used for TLS: " + newest.get(), unusable);
    }
  }

  @Override
  public void close() {
    opened.forEach(ManagedChannel::shutdownNow);
    eventLoop
        .shutdownGracefully(EVENT_LOOP_QUIET_MILLIS, EVENT_LOOP_STOP_MILLIS, TimeUnit.MILLISECONDS)
        .awaitUninterruptibly(EVENT_LOOP_STOP_MILLIS);
  }
}
