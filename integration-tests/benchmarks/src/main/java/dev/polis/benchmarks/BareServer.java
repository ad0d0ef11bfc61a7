package dev.polis.benchmarks;

import com.google.protobuf.MessageLite;
import dev.polis.etcd.Compare;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.Op;
import dev.polis.etcd.TxnResult;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.common.NodeLabels;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.Drainable;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.concurrent.EventExecutor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Answers the measured calls with prepared bytes, and a write with one transaction of etcd: the
 * least that a server on grpc-java, Netty and the JDK's TLS can do. Prints READY and its port, and
 * runs until standard input ends.
 */
final class BareServer {

  /** The same number as in a node's RPC host. */
  private static final int EVENT_LOOPS = 2;

  /** In the order that a node's RPC host prefers. */
  private static final List<String> CIPHERS =
      List.of("TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384");

  /** Half of the clients' interval: a server that allows fewer keep-alives disconnects them. */
  private static final int KEEP_ALIVE_SECONDS = 5;

  private static final byte[] EMPTY = new byte[0];
  private static final String KEY = "/bare";

  private final byte[] node;
  private final WatchEvent event;
  private final KeyValues kv;
  private final BlockingQueue<StreamObserver<byte[]>> writes = new LinkedBlockingQueue<>();
  private final EventLoopGroup events =
      new MultiThreadIoEventLoopGroup(EVENT_LOOPS, NioIoHandler.newFactory());

  /** The streams of each connection, which only the connection's own event loop touches. */
  private final Map<EventExecutor, Map<SocketAddress, Set<ServerCall<?, byte[]>>>> streams =
      new IdentityHashMap<>();

  private BareServer(byte[] node, WatchEvent event, KeyValues kv) {
    this.node = node;
    this.event = event;
    this.kv = kv;
    events.forEach(loop -> streams.put(loop, new LinkedHashMap<>()));
  }

  /**
   * Runs it until standard input ends.
   *
   * @param arguments the state directory of the node whose credentials it presents; where its etcd
   *     listens; the record that is read; the first event of a stream
   */
  public static void main(String[] arguments) throws Exception {
    Path state = Path.of(arguments[0]);
    EtcdAccess access =
        EtcdAccess.tls(List.of(EtcdEndpoint.of(arguments[1])), ClusterAccess.etcdTls(state));
    try (EtcdClient etcd = EtcdClient.connect(access)) {
      byte[] record =
          etcd.sub("curator").kv().range(KeyRange.prefix("/nodes/")).keys().getFirst().value();
      BareServer bare =
          new BareServer(
              Base64.getDecoder().decode(arguments[2]),
              WatchEvent.parseFrom(Base64.getDecoder().decode(arguments[3])),
              etcd.sub("bench").kv());
      Thread.ofPlatform().daemon().name("writes").start(() -> bare.write(record));
      Server server = bare.start(ClusterAccess.nodeCredentials(state));
      System.out.println("READY " + server.getPort());
      System.in.transferTo(OutputStream.nullOutputStream());
      server.shutdownNow();
    }
  }

  private Server start(NodeCredentials credentials) throws IOException {
    return NettyServerBuilder.forAddress(new InetSocketAddress(NodeUnderTest.ADDRESS, 0))
        .channelType(NioServerSocketChannel.class)
        .bossEventLoopGroup(new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory()))
        .workerEventLoopGroup(events)
        .directExecutor()
        .sslContext(tls(credentials))
        .permitKeepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
        .permitKeepAliveWithoutCalls(true)
        .addService(management())
        .addService(curator())
        .build()
        .start();
  }

  private static SslContext tls(NodeCredentials credentials) throws IOException {
    TlsKeys keys = TlsKeys.fixed(credentials.tls());
    return GrpcSslContexts.configure(
            SslContextBuilder.forServer(TlsContexts.keyManagerFactory(keys)), SslProvider.JDK)
        .protocols(TlsContexts.PROTOCOLS)
        .ciphers(CIPHERS)
        .clientAuth(ClientAuth.REQUIRE)
        .trustManager(TlsTrust.anyKey())
        .build();
  }

  private ServerServiceDefinition management() {
    return ServerServiceDefinition.builder(ManagementGrpc.SERVICE_NAME)
        .addMethod(
            bytes(ManagementGrpc.getGetNodesMethod()),
            ServerCalls.asyncServerStreamingCall((_, answer) -> answer(answer, node)))
        .addMethod(
            bytes(ManagementGrpc.getUpdateNodeLabelsMethod()),
            ServerCalls.asyncUnaryCall(
                (request, answer) -> {
                  deliver(request);
                  answer(answer, EMPTY);
                }))
        .build();
  }

  private ServerServiceDefinition curator() {
    return ServerServiceDefinition.builder(CuratorGrpc.SERVICE_NAME)
        .addMethod(
            bytes(CuratorGrpc.getUpdateNodeStatusMethod()),
            ServerCalls.asyncUnaryCall((_, answer) -> writes.add(answer)))
        .addMethod(bytes(CuratorGrpc.getWatchMethod()), new Watching())
        .build();
  }

  private static void answer(StreamObserver<byte[]> answer, byte[] message) {
    answer.onNext(message);
    answer.onCompleted();
  }

  /** Writes once for all waiting callers, on the revision of the previous write. */
  private void write(byte[] record) {
    try {
      long revision = kv.put(KEY, record);
      while (true) {
        List<StreamObserver<byte[]>> waiting = new ArrayList<>(List.of(writes.take()));
        writes.drainTo(waiting);
        TxnResult done =
            kv.txn().when(Compare.modRevision(KEY).is(revision)).then(Op.put(KEY, record)).commit();
        revision = done.revision();
        waiting.forEach(answer -> answer(answer, done.succeeded()));
      }
    } catch (EtcdException failure) {
      // The benchmark notices the output, and that calls are no longer answered.
      throw new IllegalStateException("the server writes no more", failure);
    } catch (InterruptedException end) {
      Thread.currentThread().interrupt();
    }
  }

  private static void answer(StreamObserver<byte[]> answer, boolean written) {
    if (written) {
      answer(answer, EMPTY);
    } else {
      answer.onError(
          Status.ABORTED.withDescription("another caller wrote " + KEY).asRuntimeException());
    }
  }

  /** Encodes an event once; each event loop sends it on its own connections. */
  private void deliver(UpdateNodeLabelsRequest request) {
    NodeLabels.Builder labels = NodeLabels.newBuilder();
    for (UpdateNodeLabelsRequest.Pair pair : request.getUpsertList()) {
      labels.addPairs(NodeLabels.Pair.newBuilder().setKey(pair.getKey()).setValue(pair.getValue()));
    }
    WatchEvent.Builder changed = event.toBuilder();
    changed.getNodesBuilder(0).setLabels(labels);
    byte[] message = changed.build().toByteArray();
    streams.forEach(
        (loop, connections) ->
            loop.execute(() -> send(loop, List.copyOf(connections.values()).iterator(), message)));
  }

  /** Sends to one connection, and to the next one when gRPC has flushed this one. */
  private static void send(
      EventExecutor loop, Iterator<Set<ServerCall<?, byte[]>>> connections, byte[] message) {
    if (connections.hasNext()) {
      connections.next().forEach(call -> call.sendMessage(message));
      loop.execute(() -> send(loop, connections, message));
    }
  }

  /** Sends the first event of a stream, and keeps the stream. */
  private final class Watching implements ServerCallHandler<WatchRequest, byte[]> {
    @Override
    public ServerCall.Listener<WatchRequest> startCall(
        ServerCall<WatchRequest, byte[]> call, Metadata headers) {
      SocketAddress peer = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
      Collection<ServerCall<?, byte[]>> kept =
          here().computeIfAbsent(peer, _ -> new LinkedHashSet<>());
      call.request(1);
      return new ServerCall.Listener<>() {
        @Override
        public void onHalfClose() {
          call.sendHeaders(new Metadata());
          call.sendMessage(event.toByteArray());
          kept.add(call);
        }

        @Override
        public void onCancel() {
          kept.remove(call);
        }
      };
    }

    private Map<SocketAddress, Set<ServerCall<?, byte[]>>> here() {
      return streams.entrySet().stream()
          .filter(loop -> loop.getKey().inEventLoop())
          .findFirst()
          .orElseThrow()
          .getValue();
    }
  }

  /** Returns a method whose answers are already encoded. */
  private static <Q, A extends MessageLite> MethodDescriptor<Q, byte[]> bytes(
      MethodDescriptor<Q, A> method) {
    return method.toBuilder(method.getRequestMarshaller(), new Prepared()).build();
  }

  private static final class Prepared implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new PreparedStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }
  }

  /** Lets gRPC copy the bytes directly, without a buffer in between. */
  private static final class PreparedStream extends ByteArrayInputStream implements Drainable {
    PreparedStream(byte[] bytes) {
      super(bytes);
    }

    @Override
    public int drainTo(OutputStream target) throws IOException {
      return Math.toIntExact(transferTo(target));
    }
  }
}
