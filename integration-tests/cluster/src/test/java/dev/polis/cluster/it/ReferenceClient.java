package dev.polis.cluster.it;

import com.google.protobuf.ByteString;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.EscrowResponse;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import dev.polis.wire.api.NodeManagementGrpc;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.BlockingClientCall;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.ByteArrayInputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.GeneralSecurityException;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Acts as a client of the reference system: presents its certificates, trusts the same peers,
 * addresses the cluster in the same way. It follows the reference's description only; of this
 * project it uses only the generated messages and stubs.
 */
final class ReferenceClient implements AutoCloseable {
  static final int CURATOR = 7835;
  static final int MANAGEMENT = 7839;
  static final int METRICS = 7840;
  static final int KUBERNETES = 6444;

  private static final int CALL_SECONDS = 60;

  /** Clients in Go dial a name of their own making, which becomes the authority of each call. */
  private static final String AUTHORITY = "control";

  private static final String USER_AGENT = "grpc-go/1.73.0";

  private final String address;
  private final KeyManager keys;
  private final TrustManager trust;
  private final Map<Integer, ManagedChannel> channels = new ConcurrentHashMap<>();

  private ReferenceClient(
      String address, PrivateKey key, X509Certificate certificate, TrustManager trust) {
    this.address = address;
    this.keys = new Keys(key, certificate);
    this.trust = trust;
  }

  /** Makes a client that knows only an address and has only a key. */
  static ReferenceClient stranger(String address, ReferenceKey key)
      throws GeneralSecurityException {
    return new ReferenceClient(
        address, key.secret(), ReferenceCertificate.of(key), new Trust(null));
  }

  /** Makes a client with a certificate of the cluster, which trusts only the cluster's nodes. */
  static ReferenceClient member(
      String address, ReferenceKey key, X509Certificate certificate, X509Certificate ca) {
    return new ReferenceClient(address, key.secret(), certificate, new Trust(ca));
  }

  /** Makes the same client with a wrong CA of the node. */
  ReferenceClient distrusting(X509Certificate otherCa) {
    Keys own = (Keys) keys;
    return new ReferenceClient(address, own.key, own.certificate, new Trust(otherCa));
  }

  static X509Certificate certificate(ByteString der) throws CertificateException {
    return (X509Certificate)
        CertificateFactory.getInstance("X.509")
            .generateCertificate(new ByteArrayInputStream(der.toByteArray()));
  }

  // ---- calls

  ManagedChannel channel(int port) {
    return channels.computeIfAbsent(port, this::dial);
  }

  private ManagedChannel dial(int port) {
    try {
      return NettyChannelBuilder.forAddress(new InetSocketAddress(address, port))
          .overrideAuthority(AUTHORITY)
          .userAgent(USER_AGENT)
          .sslContext(
              GrpcSslContexts.configure(SslContextBuilder.forClient(), SslProvider.JDK)
                  .keyManager(keys)
                  .trustManager(trust)
                  .build())
          .build();
    } catch (javax.net.ssl.SSLException e) {
      throw new AssertionError("the JDK makes no TLS client", e);
    }
  }

  ManagementGrpc.ManagementBlockingV2Stub management() {
    return ManagementGrpc.newBlockingV2Stub(channel(CURATOR))
        .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }

  NodeManagementGrpc.NodeManagementBlockingV2Stub node() {
    return NodeManagementGrpc.newBlockingV2Stub(channel(MANAGEMENT))
        .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }

  /** Takes ownership: proves a key by its own certificate, gets one of the cluster for it. */
  EscrowResponse escrow(ReferenceKey key) throws Exception {
    BlockingClientCall<EscrowRequest, EscrowResponse> call =
        AAAGrpc.newBlockingV2Stub(channel(CURATOR))
            .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
            .escrow();
    call.write(
        EscrowRequest.newBuilder()
            .setParameters(
                EscrowRequest.Parameters.newBuilder()
                    .setRequestedIdentityName("owner")
                    .setPublicKey(ByteString.copyFrom(key.raw())))
            .build());
    call.halfClose();
    List<EscrowResponse> answers = readAll(call);
    if (answers.isEmpty()) {
      throw new AssertionError("the answer to taking ownership is empty");
    }
    return answers.getLast();
  }

  List<Node> nodes(String filter) throws Exception {
    return readAll(management().getNodes(GetNodesRequest.newBuilder().setFilter(filter).build()));
  }

  List<LogsResponse> logs(LogsRequest request) throws Exception {
    return readAll(node().logs(request));
  }

  /** Returns the whole log of the node, one text for each entry. */
  List<String> allLogs() throws Exception {
    List<String> lines = new ArrayList<>();
    for (LogsResponse response :
        logs(
            LogsRequest.newBuilder()
                .addFilters(
                    dev.polis.wire.common.LogFilter.newBuilder()
                        .setWithChildren(
                            dev.polis.wire.common.LogFilter.WithChildren.getDefaultInstance()))
                .setBacklogMode(LogsRequest.BacklogMode.BACKLOG_MODE_ALL)
                .setStreamMode(LogsRequest.StreamMode.STREAM_MODE_DISABLE)
                .build())) {
      response
          .getBacklogEntriesList()
          .forEach(
              entry ->
                  lines.add(
                      entry.hasLeveled()
                          ? entry.getDn()
                              + ": "
                              + String.join("\n", entry.getLeveled().getLinesList())
                          : entry.getDn() + ": " + entry.getRaw().getData()));
    }
    return lines;
  }

  private static <A> List<A> readAll(BlockingClientCall<?, A> call)
      throws InterruptedException, StatusException {
    List<A> all = new ArrayList<>();
    for (A each = call.read(); each != null; each = call.read()) {
      all.add(each);
    }
    return all;
  }

  // ---- HTTPS

  SSLContext tls() throws GeneralSecurityException {
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(new KeyManager[] {keys}, new TrustManager[] {trust}, new SecureRandom());
    return context;
  }

  HttpResponse<String> get(int port, String path) throws Exception {
    try (HttpClient client =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).sslContext(tls()).build()) {
      return client.send(
          HttpRequest.newBuilder(URI.create("https://%s:%d%s".formatted(address, port, path)))
              .timeout(Duration.ofSeconds(CALL_SECONDS))
              .build(),
          HttpResponse.BodyHandlers.ofString());
    }
  }

  @Override
  public void close() {
    channels.values().forEach(ManagedChannel::shutdownNow);
  }

  /** Presents one certificate to every request of a peer. */
  private static final class Keys extends X509ExtendedKeyManager {
    private static final String ALIAS = "own";

    private final PrivateKey key;
    private final X509Certificate certificate;

    Keys(PrivateKey key, X509Certificate certificate) {
      this.key = key;
      this.certificate = certificate;
    }

    @Override
    public String[] getClientAliases(String type, Principal[] issuers) {
      return new String[] {ALIAS};
    }

    @Override
    public String chooseClientAlias(String[] types, Principal[] issuers, Socket socket) {
      return ALIAS;
    }

    @Override
    public String chooseEngineClientAlias(String[] types, Principal[] issuers, SSLEngine engine) {
      return ALIAS;
    }

    @Override
    public String[] getServerAliases(String type, Principal[] issuers) {
      return new String[0];
    }

    @Override
    public String chooseServerAlias(String type, Principal[] issuers, Socket socket) {
      return null; // the contract's value for none
    }

    @Override
    public X509Certificate[] getCertificateChain(String alias) {
      return new X509Certificate[] {certificate};
    }

    @Override
    public PrivateKey getPrivateKey(String alias) {
      return key;
    }
  }

  /** Trusts the nodes of one cluster, or all peers before a cluster is known. */
  private static final class Trust extends X509ExtendedTrustManager {
    private final X509Certificate ca; // null before a cluster is known

    Trust(X509Certificate ca) {
      this.ca = ca;
    }

    private void check(X509Certificate[] chain) throws CertificateException {
      if (ca == null) {
        return;
      }
      try {
        chain[0].verify(ca.getPublicKey());
      } catch (GeneralSecurityException e) {
        throw new CertificateException("the node is of another cluster", e);
      }
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      check(chain);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      throw new CertificateException("a client is asked to trust a client");
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      throw new CertificateException("a client is asked to trust a client");
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      throw new CertificateException("a client is asked to trust a client");
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
