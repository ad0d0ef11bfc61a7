package dev.polis.benchmarks;

import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdTls;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.pki.UserCredentials;
import dev.polis.process.LocalHttp;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import io.etcd.jetcd.Client;
import io.grpc.ManagedChannel;
import io.grpc.netty.GrpcSslContexts;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnixDomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.net.ssl.KeyManagerFactory;

/** Connects to a running node: as its owner, as the node itself, and to etcd as its root user. */
final class ClusterAccess implements AutoCloseable {

  static final int CURATOR_PORT = 7835;

  private final NodeUnderTest node;
  private final int port;
  private final List<ManagedChannel> channels = new ArrayList<>();

  ClusterAccess(NodeUnderTest node) {
    this(node, CURATOR_PORT);
  }

  /** Connects to a server other than the curator, at this port of the node's address. */
  ClusterAccess(NodeUnderTest node, int port) {
    this.node = node;
    this.port = port;
  }

  private ManagedChannel dial(RpcClients clients) {
    ManagedChannel channel = clients.dial(new InetSocketAddress(NodeUnderTest.ADDRESS, port));
    channels.add(channel);
    return channel;
  }

  /** Opens a new connection to the curator as the owner of the cluster. */
  ManagedChannel asOwner() throws IOException {
    return dial(owner(node.owner()));
  }

  /** Returns the clients of the owner whose key and certificates are in this folder. */
  static RpcClients owner(Path folder) throws IOException {
    UserCredentials credentials = ownerCredentials(folder);
    return RpcClients.authenticated(credentials.tls(), RpcTrust.cluster(credentials.ca()));
  }

  static UserCredentials ownerCredentials(Path folder) throws IOException {
    return UserCredentials.fromPem(
        Files.readString(folder.resolve("owner-key.pem")),
        Files.readString(folder.resolve("owner.pem")),
        Files.readString(folder.resolve("ca.pem")));
  }

  NodeCredentials nodeCredentials() throws IOException {
    return nodeCredentials(node.state());
  }

  static NodeCredentials nodeCredentials(Path state) throws IOException {
    Path folder = state.resolve("data/node/credentials");
    return NodeCredentials.fromPem(
        Files.readString(folder.resolve("cert-key.pem")),
        Files.readString(folder.resolve("cert.pem")),
        Files.readString(folder.resolve("ca.pem")));
  }

  /** Opens a new connection to the curator as the node itself. */
  ManagedChannel asNode() throws IOException {
    return dial(node(node.state()));
  }

  /** Returns the clients of the node with this state directory. */
  static RpcClients node(Path state) throws IOException {
    NodeCredentials credentials = nodeCredentials(state);
    return RpcClients.authenticated(credentials.tls(), RpcTrust.cluster(credentials.ca()));
  }

  /** Returns the certificates of etcd's root user. */
  static EtcdTls etcdTls(Path state) throws IOException {
    Path pki = state.resolve("data/etcd/pki");
    return new EtcdTls(
        List.of(Pem.certificate(Files.readString(pki.resolve("ca.pem")))),
        Pem.privateKey(Files.readString(pki.resolve("root-key.pem"))),
        List.of(Pem.certificate(Files.readString(pki.resolve("root.pem")))));
  }

  URI etcdUrl() {
    return URI.create(node.etcdFlag("listen-client-urls"));
  }

  /** Opens a new connection to etcd with the client of this project, without a namespace. */
  EtcdClient etcd() throws IOException {
    URI url = etcdUrl();
    return EtcdClient.connect(
        EtcdAccess.tls(
            List.of(EtcdEndpoint.of(url.getHost() + ":" + url.getPort())), etcdTls(node.state())));
  }

  /** Opens a new connection to etcd with jetcd alone. */
  Client jetcd() throws Exception {
    EtcdTls tls = etcdTls(node.state());
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    store.setKeyEntry(
        "client", tls.key(), new char[0], tls.chain().toArray(X509Certificate[]::new));
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store, new char[0]);
    return Client.builder()
        .endpoints(etcdUrl())
        .sslContext(
            GrpcSslContexts.configure(SslContextBuilder.forClient(), SslProvider.JDK)
                .protocols("TLSv1.3")
                .keyManager(keys)
                .trustManager(tls.trusted())
                .build())
        .build();
  }

  /** Returns the public key of the node, as requests name it. */
  byte[] nodeKey() throws IOException {
    return Ed25519.raw(nodeCredentials().publicKey());
  }

  /** Returns etcd's own metrics. */
  Map<String, Double> etcdMetrics() throws IOException {
    // The socket is in etcd's working directory, which its command line does not name.
    Path socket =
        Path.of("/proc", Long.toString(node.etcd().pid()), "cwd")
            .resolve(node.etcdFlag("listen-client-http-urls").substring("unix://".length()));
    byte[] page =
        LocalHttp.get(
                UnixDomainSocketAddress.of(socket), "/metrics", Duration.ofSeconds(10), 16 << 20)
            .body();
    Map<String, Double> metrics = new TreeMap<>();
    new String(page, StandardCharsets.UTF_8)
        .lines()
        .filter(line -> line.startsWith("etcd_") && line.indexOf('{') < 0)
        .map(line -> line.split(" "))
        .forEach(words -> metrics.put(words[0], Double.parseDouble(words[1])));
    return metrics;
  }

  @Override
  public void close() {
    channels.forEach(ManagedChannel::shutdownNow);
  }
}
