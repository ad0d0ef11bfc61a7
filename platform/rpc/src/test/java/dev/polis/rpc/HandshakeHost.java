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
            default -> throw new IOException("what is \"" + line + "\"?");
          });
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
