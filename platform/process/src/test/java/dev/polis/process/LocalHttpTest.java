package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import dev.polis.fixtures.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LocalHttpTest {

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final int ENOUGH = 1 << 20;

  @TempDir private Path folder;

  /** Answers the first connection with the bytes, and closes it. */
  private interface Asked {
    void at(SocketAddress program) throws Exception;
  }

  private void answering(String answer, Asked asked) throws Exception {
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("s"));
      server.bind(address);
      Thread program =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try (SocketChannel caller = server.accept()) {
                      caller.read(ByteBuffer.allocate(ENOUGH));
                      caller.write(
                          ByteBuffer.wrap(
                              answer.replace("\n", "\r\n").getBytes(StandardCharsets.ISO_8859_1)));
                    } catch (IOException e) {
                      throw new AssertionError("cannot answer", e);
                    }
                  });
      asked.at(address);
      Await.end(program);
    }
  }

  @Test
  @DisplayName("an answer over a unix socket has its status, its type and its bytes")
  void unixSocket() throws Exception {
    answering(
        "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 3\n\na\u00e9b",
        program -> {
          LocalHttp.Answer answer = LocalHttp.get(program, "/", PATIENCE, ENOUGH);

          assertEquals(200, answer.status());
          assertEquals("text/plain", answer.contentType());
          assertArrayEquals(new byte[] {'a', (byte) 0xe9, 'b'}, answer.body());
        });
  }

  @Test
  @DisplayName("a large answer over TCP, in chunks, arrives as it was sent")
  void tcpInChunks() throws Exception {
    byte[] sent = "node_load1 0.5\n".repeat(20_000).getBytes(StandardCharsets.US_ASCII);
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/metrics",
        exchange -> {
          exchange.sendResponseHeaders(200, 0);
          exchange.getResponseBody().write(sent);
          exchange.close();
        });
    server.start();
    try {
      LocalHttp.Answer answer =
          LocalHttp.get(server.getAddress(), "/metrics", PATIENCE, sent.length * 2);

      assertArrayEquals(sent, answer.body());
      assertEquals("", answer.contentType());
      assertEquals(404, LocalHttp.get(server.getAddress(), "/", PATIENCE, ENOUGH).status());
      assertEquals(Optional.of(404), LocalHttp.status(server.getAddress(), "/", PATIENCE));
    } finally {
      server.stop(0);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          HTTP/1.1 200 OK\\nContent-Length: 9\\n\\nshort                      | the answer ended after 5 of 9 bytes
          HTTP/1.1 200 OK\\nContent-Length: moon\\n\\nshort                   | not a size: "moon"
          HTTP/1.1 200 OK\\nContent-Length: 4294967295\\n\\nshort             | the answer ended after 5 of 4294967295 bytes
          HTTP/1.1 200 OK\\nTransfer-Encoding: chunked\\n\\n5\\nshor            | the answer ended within a chunk
          HTTP/1.1 200 OK\\nTransfer-Encoding: chunked\\n\\n2\\nab\\n          | the answer ended between two chunks
          HTTP/1.1 200 OK\\nTransfer-Encoding: chunked\\n\\nmoon\\nab\\n       | not a size: "moon"
          HTTP/1.1 200 OK\\nTransfer-Encoding: chunked\\n\\nffffffff\\nab\\n   | the answer ended within a chunk
          HTTP/1.1 200 OK\\n                                                   | the connection was closed before an answer
          SSH-2.0-OpenSSH_9.2\\n\\n                                            | not HTTP: "SSH-2.0-OpenSSH_9.2"
          """)
  @DisplayName("an answer that is cut off, or no HTTP, is refused with the reason")
  void broken(String answer, String words) throws Exception {
    answering(
        answer.replace("\\n", "\n"),
        program -> {
          IOException refusal =
              assertThrows(IOException.class, () -> LocalHttp.get(program, "/", PATIENCE, ENOUGH));

          assertEquals(words, refusal.getMessage());
        });
  }

  @Test
  @DisplayName("an answer larger than allowed is not read to its end")
  void tooLarge() throws Exception {
    answering(
        "HTTP/1.1 200 OK\n\n" + "x".repeat(1000),
        program -> {
          IOException refusal =
              assertThrows(IOException.class, () -> LocalHttp.get(program, "/", PATIENCE, 100));

          assertEquals("the answer has more than 100 bytes", refusal.getMessage());
        });
  }

  @Test
  @DisplayName("a call of a silent program fails in time; one of an absent program fails at once")
  void silent() throws Exception {
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("s"));
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(address);
      Duration within = Duration.ofMillis(200);
      SocketTimeoutException late =
          assertThrows(
              SocketTimeoutException.class, () -> LocalHttp.get(address, "/", within, ENOUGH));
      assertTrue(late.getMessage().contains("within 200 ms"), late::getMessage);
    }
    assertThrows(IOException.class, () -> LocalHttp.get(address, "/", PATIENCE, ENOUGH));
    assertEquals(Optional.empty(), LocalHttp.status(address, "/", PATIENCE));
  }
}
