package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Implements a protocol of one byte for a request and one for its answer. */
@Timeout(60)
class TlsListenerTest {

  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final Duration KEEP = Duration.ofSeconds(10);

  private final LogTree logs = LogTree.create();
  private final CertificateAuthority ca = CertificateAuthority.create("Test cluster");
  private final SSLContext context =
      TlsContexts.context(
          TlsKeys.fixed(node()), TlsTrust.member(TlsTrust.Source.of(ca.certificate())));
  private InetSocketAddress here = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  private TlsListener first;

  @BeforeEach
  void open() throws IOException {
    first = open(answering('1'));
    here = first.address();
  }

  @AfterEach
  void close() {
    first.close();
  }

  private TlsIdentity node() {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), ca.issueNode(pair.getPublic()));
  }

  private TlsListener open(TlsHandler handler) throws IOException {
    return TlsListener.open(
        "dev.polis.test", here, context, TlsContexts.serverParameters(), handler, logs.log("test"));
  }

  private static TlsHandler answering(char answer) {
    return connection -> {
      int request = connection.input().read();
      connection.output().write(answer);
      connection.output().flush();
      return request == 'x' ? new TlsHandler.Next.Close() : new TlsHandler.Next.Keep();
    };
  }

  private SSLSocket connect() throws IOException {
    SSLSocket socket =
        (SSLSocket) context.getSocketFactory().createSocket(here.getAddress(), here.getPort());
    socket.setSoTimeout((int) PATIENCE.toMillis());
    return socket;
  }

  private static char ask(SSLSocket socket, char request) throws IOException {
    socket.getOutputStream().write(request);
    return (char) socket.getInputStream().read();
  }

  @Test
  @DisplayName("the next request of an open connection is answered by the newest handler")
  void newestAnswers() throws Exception {
    try (SSLSocket socket = connect()) {
      assertEquals('1', ask(socket, 'a'));
      try (TlsListener second = open(answering('2'))) {
        assertEquals(here, second.address());
        assertEquals('2', ask(socket, 'a'));
      }
      assertEquals('1', ask(socket, 'a'), "the first one is the newest again");
      assertEquals('1', ask(socket, 'x'));
      assertEquals(-1, socket.getInputStream().read());
    }
  }

  @Test
  @DisplayName(
      "a handler prepares before it takes the place of another one, which answers meanwhile")
  void prepares() throws Exception {
    AtomicInteger prepared = new AtomicInteger();
    try (SSLSocket socket = connect();
        TlsListener second =
            open(
                new TlsHandler() {
                  @Override
                  public void prepare() {
                    try {
                      assertEquals('1', ask(socket, 'a'));
                    } catch (IOException e) {
                      throw new UncheckedIOException(e);
                    }
                    prepared.incrementAndGet();
                  }

                  @Override
                  public Next handle(TlsConnection connection) throws IOException {
                    return answering('2').handle(connection);
                  }
                })) {
      assertEquals(here, second.address());
      assertEquals('2', ask(socket, 'a'));
      assertEquals(1, prepared.get());
    }
  }

  @Test
  @DisplayName("requests and connections wait while a port is kept open for the next handler")
  void kept() throws Exception {
    try (SSLSocket open = connect()) {
      assertEquals('1', ask(open, 'a'));
      first.close(KEEP);
      open.getOutputStream().write('a');
      Thread opener =
          Thread.startVirtualThread(
              () -> {
                try {
                  first = open(answering('2'));
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
      assertEquals('2', (char) open.getInputStream().read());
      Await.end(opener);
      try (SSLSocket another = connect()) {
        assertEquals('2', ask(another, 'a'));
      }
    }
  }

  @Test
  @DisplayName("the last listener closes the port and all connections")
  void closes() throws Exception {
    try (SSLSocket socket = connect()) {
      assertEquals('1', ask(socket, 'a'));
      first.close();
      assertThrows(ConnectException.class, this::connect);
      assertTrue(ended(socket));
    }
  }

  @Test
  @DisplayName("a port that closes while a request passes its connection on ends both connections")
  void closesWhilePassedOn() throws Exception {
    InetSocketAddress far = here;
    here = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    AtomicReference<TlsListener> second = new AtomicReference<>();
    AtomicReference<Thread> serving = new AtomicReference<>();
    AtomicReference<Throwable> uncaught = new AtomicReference<>();
    second.set(
        open(
            connection -> {
              serving.set(Thread.currentThread());
              serving.get().setUncaughtExceptionHandler((thread, thrown) -> uncaught.set(thrown));
              TlsConnection other =
                  TlsConnection.dial(far, context, TlsContexts.clientParameters(), PATIENCE);
              second.get().close();
              return new TlsHandler.Next.Join(other);
            }));
    here = second.get().address();
    try (SSLSocket socket = connect()) {
      socket.getOutputStream().write('a');
      assertTrue(ended(socket));
      Await.end(serving.get());
      assertNull(uncaught.get());
    }
  }

  @Test
  @DisplayName("a flood of connections at a port outside of the host's listeners is reported, too")
  void floodIsNamed() throws Exception {
    // Uses a source address of its own, so that its rate affects no other test.
    InetAddress source = InetAddress.ofLiteral("127.0.0.77");
    for (int each = 0; each < 200; each++) {
      new Socket(here.getAddress(), here.getPort(), source, 0).close();
    }
    Await.until(
        PATIENCE,
        "the flood to be seen",
        () ->
            SharedPort.lookForFloods(logs.log("test"))
                || SharedPort.flooded().findAny().isPresent());
    RpcListenerStatus flooded = SharedPort.flooded().findFirst().orElseThrow();
    assertEquals("dev.polis.test", flooded.name());
    assertEquals("127.0.0.1:" + here.getPort(), flooded.address());
    assertTrue(flooded.flood().contains("from 127.0.0.77"), flooded::toString);
  }

  private static boolean ended(SSLSocket socket) {
    try {
      return socket.getInputStream().read() < 0;
    } catch (IOException cut) {
      return true;
    }
  }

  @Test
  @DisplayName("joined connections carry bytes both ways, end each way, and outlive their handler")
  void joined() throws Exception {
    InetSocketAddress port = here;
    CountDownLatch entered = new CountDownLatch(1);
    here = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (TlsListener echo =
        open(
            connection -> {
              byte[] all = connection.input().readAllBytes();
              connection.output().write(all);
              return new TlsHandler.Next.Close();
            })) {
      InetSocketAddress far = echo.address();
      here = port;
      TlsListener second =
          open(
              connection -> {
                TlsConnection other =
                    TlsConnection.dial(far, context, TlsContexts.clientParameters(), PATIENCE);
                entered.countDown();
                return new TlsHandler.Next.Join(other);
              });
      try (SSLSocket socket = connect()) {
        socket.getOutputStream().write("before ".getBytes(StandardCharsets.US_ASCII));
        assertTrue(entered.await(PATIENCE.toSeconds(), TimeUnit.SECONDS));
        second.close();
        socket.getOutputStream().write("after".getBytes(StandardCharsets.US_ASCII));
        socket.shutdownOutput();
        assertEquals(
            "before after",
            new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII));
      }
    }
  }

  @Test
  @DisplayName("a handler's limit ends the connection of an idle peer")
  void limits() throws Exception {
    try (TlsListener second =
            open(
                connection -> {
                  connection.limit(Duration.ofMillis(100));
                  connection.input().readNBytes(2);
                  return new TlsHandler.Next.Keep();
                });
        SSLSocket socket = connect()) {
      assertEquals(here, second.address());
      socket.getOutputStream().write('a');
      assertTrue(ended(socket));
    }
  }
}
