package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Distribution;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Measures how much memory a stranger's handshake takes in a JVM with a node's options. */
class HandshakeSizeTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** The largest message of a handshake that the JVM's options allow. */
  private static final int LARGEST = 8 << 10;

  /** The largest record of TLS. */
  private static final int RECORD = 16 << 10;

  private static final byte HANDSHAKE = 22;
  private static final byte CLIENT_HELLO = 1;

  /** The number of certificates that make a larger message. */
  private static final int CHAIN = 30;

  private static final int SOURCES =
      ConnectionLimits.DEFAULT.strangers() / ConnectionLimits.DEFAULT.perSource();

  /** The room that the limits of connections reserve for all handshakes together. */
  private static final long ROOM = 16 << 20;

  /**
   * The exponent of Netty's chunks that lets them fit the handshakes. By default, Netty takes
   * chunks of 2 MiB for each thread and counts them whole, although up to two may be half empty.
   * With 8 KiB shifted by this number a chunk has 64 KiB, twice the largest buffer of a connection.
   */
  private static final int CHUNKS = 3;

  private static Process host;
  private static BufferedReader answers;
  private static PrintStream questions;
  private static List<Integer> ports;

  @BeforeAll
  static void start() throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Distribution.program("java").toString());
    command.addAll(Distribution.javaOptions());
    command.add("-Dio.netty.allocator.maxOrder=" + CHUNKS);
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), HandshakeHost.class.getName()));
    host = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    answers =
        new BufferedReader(new InputStreamReader(host.getInputStream(), StandardCharsets.UTF_8));
    questions = new PrintStream(host.getOutputStream(), true, StandardCharsets.UTF_8);
    ports = List.of(answer().split(" ")).stream().map(Integer::valueOf).toList();
  }

  @AfterAll
  static void end() throws InterruptedException {
    questions.close();
    host.destroyForcibly().waitFor();
  }

  private static String answer() throws IOException {
    String line = answers.readLine();
    if (line == null) {
      throw new AssertionError("the listeners' process has ended");
    }
    return line;
  }

  private static String ask(String question) throws IOException {
    questions.println(question);
    return answer();
  }

  private static InetSocketAddress at(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  /** Begins a message of a handshake that has this size, in a record of its own. */
  private static byte[] hello(int size, int sent) {
    ByteBuffer record = ByteBuffer.allocate(5 + 4 + sent);
    record.put(HANDSHAKE).putShort((short) 0x0301).putShort((short) (4 + sent));
    record.put(CLIENT_HELLO).put((byte) 0).putShort((short) size);
    return record.array();
  }

  /** Begins a record of the largest size, and leaves out the last byte. */
  private static byte[] unfinished() {
    ByteBuffer record = ByteBuffer.allocate(5 + RECORD - 1);
    record.put(HANDSHAKE).putShort((short) 0x0303).putShort((short) RECORD);
    return record.array();
  }

  /** Counts the logged refusals with their reason. */
  private static int refused() throws IOException {
    String reason = "exceeds the maximum allowed size (%d)".formatted(LARGEST);
    return ask(HandshakeHost.LOG).split(Pattern.quote(reason), -1).length - 1;
  }

  /** Is an attempt that a listener must refuse. */
  @FunctionalInterface
  private interface Attempt {
    void at(int port) throws Exception;
  }

  /**
   * Makes the attempt at both listeners until the log, which omits lines in a flood, has the
   * refusal.
   */
  private static void assertRefused(Attempt attempt) throws Exception {
    for (int port : ports) {
      int before = refused();
      Await.until(
          PATIENCE,
          "a line that names the size",
          () -> {
            attempt.at(port);
            return refused() > before;
          });
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a hello that says it is larger than 8 KiB ends its connection at its first bytes")
  void hello() throws Exception {
    assertRefused(
        port -> {
          try (Socket socket = new Socket()) {
            socket.connect(at(port));
            socket.setSoTimeout((int) PATIENCE.toMillis());
            socket.getOutputStream().write(hello(LARGEST + 1, 1));
            socket.getInputStream().readAllBytes();
          }
        });
  }

  @Test
  @Tag("attack")
  @DisplayName("certificates of more than 8 KiB together are refused before one of them is read")
  void certificates() throws Exception {
    KeyPair pair = Ed25519.generate();
    TlsIdentity user =
        TlsIdentity.of(
            pair.getPrivate(),
            CertificateAuthority.create("another").issueUser("owner", pair.getPublic()));
    TlsIdentity chain =
        new TlsIdentity(user.privateKey(), Collections.nCopies(CHAIN, user.certificate()));
    assertTrue(CHAIN * user.certificate().getEncoded().length > LARGEST);
    assertRefused(port -> show(chain, port));
  }

  @Test
  @DisplayName("a request to a server with more than 8 KiB of certificates fails with both sizes")
  void outward() throws Exception {
    KeyPair pair = Ed25519.generate();
    X509Certificate node = CertificateAuthority.create("another").issueNode(pair.getPublic());
    TlsIdentity chain = new TlsIdentity(pair.getPrivate(), Collections.nCopies(CHAIN, node));
    try (TlsListener server =
        TlsListener.open(
            "dev.polis.test",
            at(0),
            TlsContexts.context(TlsKeys.fixed(chain), TlsTrust.anyKey()),
            TlsContexts.clientParameters(),
            connection -> new TlsHandler.Next.Close(),
            LogTree.create().log("test"))) {
      String why =
          ask("%s//127.0.0.1:%d/".formatted(HandshakeHost.FETCH, server.address().getPort()));
      assertTrue(
          why.matches(
              ".*The size of the handshake message \\(\\d+\\) exceeds the maximum allowed size \\(%d\\).*"
                  .formatted(LARGEST)),
          why);
    }
  }

  private static void show(TlsIdentity chain, int port) throws Exception {
    try (SSLSocket socket =
        (SSLSocket)
            TlsContexts.context(TlsKeys.fixed(chain), TlsTrust.anyKey())
                .getSocketFactory()
                .createSocket(at(port).getAddress(), port)) {
      socket.setSSLParameters(TlsContexts.clientParameters());
      socket.setSoTimeout((int) PATIENCE.toMillis());
      socket.getOutputStream().write(1);
      assertEquals(-1, socket.getInputStream().read());
    } catch (IOException alert) {
      // The expected end.
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("as many half handshakes as strangers may have take less than 16 MiB together")
  void halfHandshakes() throws Exception {
    // Once, so that all classes are loaded.
    hello();
    Memory before = memory(0);
    List<Socket> open = new ArrayList<>();
    try {
      for (int source = 1; source <= SOURCES; source++) {
        for (int each = 0; each < ConnectionLimits.DEFAULT.perSource(); each++) {
          Socket socket = new Socket();
          open.add(socket);
          socket.bind(new InetSocketAddress("127.0.64." + source, 0));
          socket.connect(at(ports.getFirst()));
          socket.getOutputStream().write(hello(LARGEST, LARGEST - 1));
          socket.getOutputStream().write(unfinished());
        }
      }
      Memory during = memory(ConnectionLimits.DEFAULT.strangers());
      System.out.printf("%d half handshakes: %s, before them %s%n", open.size(), during, before);
      assertTrue(during.all() - before.all() < ROOM, () -> during + ", before them " + before);
    } finally {
      for (Socket socket : open) {
        socket.close();
      }
    }
    Memory after = memory(0);
    System.out.printf("after them %s%n", after);
  }

  /**
   * Holds the bytes in use.
   *
   * @param heap the heap of the JVM, after a collection
   * @param direct Netty's memory outside the heap, some of which it keeps for the next connections
   */
  private record Memory(long heap, long direct) {
    long all() {
      return heap + direct;
    }
  }

  /**
   * Returns the memory of the host with this number of connections, after it has read their bytes.
   */
  private static Memory memory(int connections) throws Exception {
    AtomicReference<Memory> last = new AtomicReference<>(new Memory(0, 0));
    Await.until(
        PATIENCE,
        connections + " connections, and two answers about the memory that are alike",
        () -> {
          String[] words = ask(HandshakeHost.MEMORY).split(" ");
          Memory now = new Memory(Long.parseLong(words[1]), Long.parseLong(words[2]));
          Memory former = last.getAndSet(now);
          return Integer.parseInt(words[0]) == connections
              && Math.abs(now.all() - former.all()) < 1 << 16;
        });
    return last.get();
  }
}
