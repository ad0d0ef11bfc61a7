package dev.polis.faults.it;

import static dev.polis.faults.it.Http2Peer.END_HEADERS;
import static dev.polis.faults.it.Http2Peer.END_STREAM;
import static dev.polis.faults.it.Http2Peer.NOTHING;
import static dev.polis.faults.it.Http2Peer.NO_FLAGS;
import static dev.polis.faults.it.Http2Peer.frame;

import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import javax.net.ssl.SSLContext;

/**
 * Attacks all ports of a node at once, from several addresses, without a pause: it reopens each
 * connection that the node ends. It trusts any server.
 */
final class Flood implements AutoCloseable {

  /** Every port of a node without Kubernetes. */
  static final List<Integer> PORTS =
      List.of(
          FaultNode.ETCD_CLIENTS,
          FaultNode.ETCD_PEERS,
          FaultNode.CURATOR,
          FaultNode.DEBUG,
          FaultNode.MANAGEMENT,
          FaultNode.METRICS);

  static final List<Integer> OF_ETCD = List.of(FaultNode.ETCD_CLIENTS, FaultNode.ETCD_PEERS);

  /**
   * The ports that accept only HTTP/2, for gRPC; etcd's ports and the metrics accept HTTP/1.1, too.
   */
  private static final List<Integer> HTTP2 = FaultNode.RPC_PORTS;

  /** The pause of a thread after each round over its connections, in which other threads run. */
  private static final Duration PACE = Duration.ofMillis(500);

  /**
   * The number of platform threads. They are no virtual threads, so that the polisctl of this
   * process does not wait for them; and few, so that this side's handshakes leave processor time to
   * the node.
   */
  private static final int THREADS = Runtime.getRuntime().availableProcessors();

  /** Twice as many calls as a stranger may have on one connection. */
  private static final int CALLS = 32;

  /**
   * The ways to keep a call open: without a request, with half of one, with a whole one, or with
   * the last one.
   */
  private static final int MANNERS = 4;

  /** A TLS handshake record that announces more bytes than follow. */
  private static final byte[] HALF_HELLO = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01};

  /** Two such pieces of a head meet the node's limits; pieces of one byte never do. */
  private static final int LARGE_PIECE = 12 << 10;

  private static final Http2Call ANY =
      Http2Call.good("/metropolis.node.core.curator.proto.api.CuratorLocal/GetCACertificate");

  /** The attack on each connection. */
  enum Kind {
    /** Opens the connection, and sends nothing, or the beginning of a handshake. */
    HALF_OPEN,
    /** Completes the handshake of TLS, or without TLS that of HTTP/2. */
    SILENT,
    /** Calls every method that strangers may call, and ends no call. */
    OPEN_CALLS,
    /** Begins the head of a request, and never ends it. */
    ENDLESS_HEADS
  }

  /** Holds one place of the flood, with a connection while the node accepts it. */
  private final class Place {
    private final InetSocketAddress from;
    private final InetSocketAddress to;
    private final int number;
    private volatile Http2Peer peer; // null before the first

    Place(InetSocketAddress from, int port, int number) {
      this.from = from;
      this.to = new InetSocketAddress(address, port);
      this.number = number;
    }

    int port() {
      return to.getPort();
    }

    boolean isOpen() {
      Http2Peer now = peer;
      return now != null && now.end().isOpen();
    }

    /** Opens a connection if there is none, or continues the attack on the open one. */
    void tend() {
      try {
        if (isOpen()) {
          more(this);
        } else {
          close();
          peer = Http2Peer.silent(from, to, tls());
          begin(this);
        }
      } catch (ConnectException unreachable) {
        refusal.set(this.to + ": " + unreachable);
      } catch (IOException ended) {
        // The node has ended it, perhaps within the handshake: the next round opens another.
      }
      tried.incrementAndGet();
    }

    private Optional<SSLContext> tls() {
      return kind == Kind.HALF_OPEN || port() == FaultNode.DEBUG
          ? Optional.empty()
          : Optional.of(stranger);
    }

    void close() throws IOException {
      if (peer != null) {
        peer.close();
      }
    }
  }

  private final Kind kind;
  private final String address;
  private final List<FuzzMethod> methods;
  private final SSLContext stranger = stranger();
  private final List<Place> places = new ArrayList<>();
  private final AtomicInteger tried = new AtomicInteger();
  private final AtomicReference<String> refusal = new AtomicReference<>("");
  private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);

  private Flood(Kind kind, FaultNode node) throws Exception {
    this.kind = kind;
    this.address = node.address();
    this.methods = openMethods();
  }

  /** Returns every method that a caller without a certificate may call. */
  static List<FuzzMethod> openMethods() throws Exception {
    return FuzzMethod.all().stream().filter(FuzzMethod::open).toList();
  }

  /**
   * Begins the flood.
   *
   * @param sources the prefix of the addresses, three numbers and a dot @param count the number of
   *     addresses @param each the number of connections from each address to each port
   */
  static Flood begin(Kind kind, FaultNode node, String sources, int count, int each)
      throws Exception {
    Flood flood = new Flood(kind, node);
    for (int number = 0; number < count * each; number++) {
      InetSocketAddress from = new InetSocketAddress(sources + (1 + number % count), 0);
      for (int port : PORTS) {
        flood.places.add(flood.new Place(from, port, number));
      }
    }
    for (int first = 0; first < THREADS; first++) {
      List<Place> own =
          IntStream.iterate(first, next -> next < flood.places.size(), next -> next + THREADS)
              .mapToObj(flood.places::get)
              .toList();
      flood.threads.execute(() -> tend(own));
    }
    flood.threads.shutdown();
    return flood;
  }

  private static void tend(List<Place> places) {
    while (!Thread.currentThread().isInterrupted()) {
      places.forEach(Place::tend);
      LockSupport.parkNanos(PACE.toNanos());
    }
  }

  /** A self-signed certificate, for servers that request one. */
  private static SSLContext stranger() throws GeneralSecurityException {
    KeyPair pair = Ed25519.generate();
    TlsIdentity own =
        TlsIdentity.of(
            pair.getPrivate(), CertificateAuthority.selfSigned(pair, InstantSource.system()));
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(
        TlsContexts.keyManagerFactory(TlsKeys.fixed(own)).getKeyManagers(),
        InsecureTrustManagerFactory.INSTANCE.getTrustManagers(),
        null);
    return context;
  }

  // ---- attacks

  private void begin(Place place) throws IOException {
    Http2Peer peer = place.peer;
    switch (kind) {
      case HALF_OPEN -> {
        if (place.number % 2 == 0) {
          peer.send(HALF_HELLO);
        }
      }
      case SILENT -> {
        if (place.port() == FaultNode.DEBUG) {
          greet(peer);
        }
      }
      case OPEN_CALLS -> {
        greet(peer);
        for (int call = 0; call < CALLS; call++) {
          call(peer, call % methods.size(), (place.number + call / methods.size()) % MANNERS);
        }
      }
      case ENDLESS_HEADS -> {
        if (HTTP2.contains(place.port())) {
          greet(peer);
          peer.send(frame(Http2Peer.HEADERS, NO_FLAGS, 1, Http2Peer.block(ANY.headers())));
        } else {
          peer.send("GET / HTTP/1.1\r\n".getBytes(StandardCharsets.US_ASCII));
        }
      }
    }
  }

  private void more(Place place) throws IOException {
    if (kind == Kind.ENDLESS_HEADS) {
      String value = "x".repeat(place.number % 2 == 0 ? 1 : LARGE_PIECE);
      place.peer.send(
          HTTP2.contains(place.port())
              ? frame(
                  Http2Peer.CONTINUATION,
                  NO_FLAGS,
                  1,
                  Http2Peer.block(List.of(Map.entry("x", value))))
              : ("x: " + value + "\r\n").getBytes(StandardCharsets.US_ASCII));
    }
  }

  private static void greet(Http2Peer peer) throws IOException {
    peer.send(Http2Peer.PREFACE, frame(Http2Peer.SETTINGS, NO_FLAGS, 0, NOTHING));
  }

  private void call(Http2Peer peer, int method, int manner) throws IOException {
    int stream = peer.nextStream();
    Http2Call call = Http2Call.good("/" + methods.get(method).name());
    byte[] head = frame(Http2Peer.HEADERS, END_HEADERS, stream, Http2Peer.block(call.headers()));
    byte[] body =
        switch (manner) {
          case 0 -> NOTHING;
          case 1 ->
              frame(
                  Http2Peer.DATA, NO_FLAGS, stream, Http2Peer.message(0, 1 << 20, new byte[1000]));
          case 2 -> frame(Http2Peer.DATA, NO_FLAGS, stream, call.body());
          default -> frame(Http2Peer.DATA, END_STREAM, stream, call.body());
        };
    peer.send(head, body);
  }

  // ---- results

  /** Returns the number of turns of each place, in order. */
  int tried() {
    return tried.get();
  }

  /** Returns the ports without any connection; empty if every port accepted one. */
  String refusal() {
    return refusal.get();
  }

  /** Counts the connections that the node accepts at this time. */
  int connections() {
    return places.size();
  }

  /** Counts the connections to these ports that the node has not ended. */
  long held(List<Integer> ports) {
    return places.stream()
        .filter(place -> ports.contains(place.port()))
        .filter(Place::isOpen)
        .count();
  }

  /** Counts the connections to gRPC that the node keeps open after its first frame. */
  long greeted() {
    return places.stream()
        .filter(place -> HTTP2.contains(place.port()))
        .filter(place -> place.isOpen() && place.peer.greeted())
        .count();
  }

  @Override
  public void close() throws IOException {
    threads.shutdownNow();
    threads.close();
    for (Place place : places) {
      place.close();
    }
  }
}
