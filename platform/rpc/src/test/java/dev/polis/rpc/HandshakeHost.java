package dev.polis.rpc;

import dev.polis.fixtures.RecordCopy;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import io.netty.util.internal.PlatformDependent;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;

/**
 * Serves both kinds of listeners in a process of its own, whose JVM has a node's options. It prints
 * their two ports, and answers each line of its input with one line.
 */
final class HandshakeHost {
  static final String MEMORY = "memory";
  static final String LOG = "log";
  static final String FETCH = "https:";

  /** Longer than a test, so that no connection ends for another reason. */
  private static final Duration HANDSHAKE = Duration.ofMinutes(5);

  private HandshakeHost() {}

  public static void main(String[] arguments) throws Exception {
    try (RpcFixture fixture =
            new RpcFixture(usual -> RecordCopy.with(usual, "handshakeTime", HANDSHAKE));
        TlsListener listener =
            TlsListener.open(
                "dev.polis.test",
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                TlsContexts.context(TlsKeys.fixed(fixture.credentials.tls()), TlsTrust.anyKey()),
                TlsContexts.serverParameters(),
                connection -> new TlsHandler.Next.Close(),
                fixture.logs.log("rpc.other"))) {
      System.out.printf(
          "%d %d%n", fixture.host.address(RpcHost.CURATOR).getPort(), listener.address().getPort());
      answer(fixture);
    }
  }

  private static void answer(RpcFixture fixture) throws IOException {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      System.out.println(
          switch (line) {
            case MEMORY ->
                "%d %d %d"
                    .formatted(
                        fixture.port(RpcHost.CURATOR).strangers(),
                        heap(),
                        PlatformDependent.usedDirectMemory());
            case LOG -> handshakes(fixture);
            case String address when address.startsWith(FETCH) -> fetched(URI.create(address));
            default -> throw new IOException("what is \"" + line + "\"?");
          });
    }
  }

  /** Makes a request as a plugin may, and returns its status or the reason of its failure. */
  private static String fetched(URI address) {
    try (HttpClient client =
        HttpClient.newBuilder().sslContext(TlsContexts.anonymous(TlsTrust.anyKey())).build()) {
      HttpRequest request = HttpRequest.newBuilder(address).build();
      return "status " + client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
    } catch (IOException | InterruptedException e) {
      return e.getMessage();
    }
  }

  private static long heap() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  private static List<String> handshakes(RpcFixture fixture) {
    return fixture.log().stream().filter(line -> line.contains("TLS handshake with")).toList();
  }
}
