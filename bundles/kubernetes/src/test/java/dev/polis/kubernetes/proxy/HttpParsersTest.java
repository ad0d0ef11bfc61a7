package dev.polis.kubernetes.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Tier;
import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Gives random connections to the proxy's parser and to a second one: both must read the forwarded
 * requests in the same way, before the proxy and behind it. {@code -Dpolis.seed} repeats a run.
 */
@Tag("longer")
class HttpParsersTest {

  private static final long SEED = Long.getLong("polis.seed", System.nanoTime());
  private static final int CONNECTIONS = Tier.pick(2_000, 50_000, 500_000);

  /** The same size as the buffer of a connection. */
  private static final int BUFFER = 16 * 1024;

  private static final InetAddress FROM = InetAddress.ofLiteral("192.0.2.1");

  /** The way in which the proxy's reading of a connection ended. */
  private enum End {
    /** At the end of the bytes, between two requests. */
    CLEAN,
    /** After a request that closes the connection, or may change the protocol. */
    LAST,
    /** Before a request that is refused or breaks off. */
    REFUSED
  }

  /**
   * The proxy's handling of a connection.
   *
   * @param requests that were passed on whole
   * @param forwarded all bytes that the API server gets
   * @param cut whether the last of them belong to a request that is broken off
   */
  private record Passed(
      List<HttpSecondParser.Read> requests, byte[] forwarded, boolean cut, End end) {}

  /** Gives bytes in parts of random length, as a network does. */
  private static final class Parts extends InputStream {
    private final InputStream in;
    private final RandomGenerator random;

    Parts(byte[] bytes, RandomGenerator random) {
      this.in = new ByteArrayInputStream(bytes);
      this.random = random;
    }

    @Override
    public int read() throws IOException {
      return in.read();
    }

    @Override
    public int read(byte[] to, int offset, int length) throws IOException {
      return in.read(to, offset, Math.min(length, 1 + random.nextInt(1 + random.nextInt(200))));
    }

    @Override
    public int available() {
      return 0;
    }
  }

  /** Does what the proxy does, without connections and answers. */
  private static Passed pass(byte[] sent, RandomGenerator random) throws IOException {
    InputStream in = new BufferedInputStream(new Parts(sent, random), BUFFER);
    ByteArrayOutputStream forwarded = new ByteArrayOutputStream();
    List<HttpSecondParser.Read> requests = new ArrayList<>();
    while (true) {
      in.mark(1);
      if (in.read() < 0) {
        return new Passed(requests, forwarded.toByteArray(), false, End.CLEAN);
      }
      in.reset();
      int before = forwarded.size();
      try {
        HttpRequest request = HttpRequest.read(in, HttpHead.MOST_BYTES);
        ProxyHandler.writeRequest(
            request, new ProxySender.User("jane", List.of()), FROM, forwarded);
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        request.body().copy(in, body, () -> {});
        forwarded.write(body.toByteArray());
        requests.add(
            new HttpSecondParser.Read(
                request.method(), request.target(), List.of("jane"), content(request, body)));
        if (request.upgrade().isPresent() || !request.keepsAlive()) {
          return new Passed(requests, forwarded.toByteArray(), false, End.LAST);
        }
      } catch (HttpSyntaxException | EOFException refused) {
        return new Passed(
            requests, forwarded.toByteArray(), forwarded.size() > before, End.REFUSED);
      }
    }
  }

  /** Takes the framing off again. */
  private static String content(HttpRequest request, ByteArrayOutputStream body)
      throws IOException {
    if (!(request.body() instanceof HttpBody.Chunked)) {
      return body.toString(StandardCharsets.ISO_8859_1);
    }
    StringBuilder content = new StringBuilder();
    InputStream in = new ByteArrayInputStream(body.toByteArray());
    for (int length = size(in); length > 0; length = size(in)) {
      content.append(new String(in.readNBytes(length), StandardCharsets.ISO_8859_1));
      in.skipNBytes(2);
    }
    return content.toString();
  }

  private static int size(InputStream in) throws IOException {
    StringBuilder digits = new StringBuilder();
    for (int next = in.read(); next != '\r'; next = in.read()) {
      digits.append((char) next);
    }
    in.skipNBytes(1);
    return Integer.parseInt(digits.toString(), 16);
  }

  @Test
  @Timeout(3600)
  @DisplayName(
      "a second parser reads forwarded bytes in the same way as the proxy: as many requests, the same"
          + " methods, targets and bodies")
  void sameReading() throws IOException {
    System.out.printf("%d connections with -Dpolis.seed=%d%n", CONNECTIONS, SEED);
    SplittableRandom seeds = new SplittableRandom(SEED);
    int passed = 0;
    int[] ends = new int[End.values().length];
    for (int i = 0; i < CONNECTIONS; i++) {
      SplittableRandom random = seeds.split();
      byte[] sent = new HttpGenerator(random).connection();
      Passed proxy = pass(sent, random);
      passed += proxy.requests().size();
      ends[proxy.end().ordinal()]++;
      String said = "connection %d of -Dpolis.seed=%d: %s".formatted(i, SEED, printable(sent));
      requireSameBehind(proxy, said);
      requireSameBefore(proxy, HttpSecondParser.read(sent), said);
    }
    System.out.printf(
        "%d requests passed on; %d connections read to their end, %d to a last request, %d"
            + " refused%n",
        passed, ends[0], ends[1], ends[2]);
    for (int end : ends) {
      assertTrue(end > CONNECTIONS / 100, "the generator makes too few of one kind");
    }
  }

  /** Requires that the API server reads the proxy's requests and no others. */
  private static void requireSameBehind(Passed proxy, String said) {
    HttpSecondParser.Reading server = HttpSecondParser.read(proxy.forwarded());
    assertEquals(proxy.requests(), server.requests(), () -> "behind the proxy, " + said);
    if (proxy.cut()) {
      assertTrue(server.begun(), () -> "a request that broke off is whole, " + said);
    } else {
      assertFalse(server.begun() || server.wrong().isPresent(), () -> server + ", " + said);
    }
  }

  /**
   * Requires that a peer between client and proxy reads each forwarded request as the proxy does.
   */
  private static void requireSameBefore(Passed proxy, HttpSecondParser.Reading other, String said) {
    List<HttpSecondParser.Read> ours = unnamed(proxy.requests());
    List<HttpSecondParser.Read> theirs = unnamed(other.requests());
    assertTrue(
        theirs.size() >= ours.size(),
        () -> "the other parser refuses a forwarded request: " + other + ", " + said);
    assertEquals(ours, theirs.subList(0, ours.size()), () -> "before the proxy, " + said);
    if (proxy.end() == End.CLEAN) {
      assertEquals(ours.size(), theirs.size(), () -> "before the proxy, " + said);
    }
  }

  /** Removes the users: before the proxy, a client may send any. */
  private static List<HttpSecondParser.Read> unnamed(List<HttpSecondParser.Read> requests) {
    return requests.stream()
        .map(
            each -> new HttpSecondParser.Read(each.method(), each.target(), List.of(), each.body()))
        .toList();
  }

  private static String printable(byte[] bytes) {
    return new String(bytes, StandardCharsets.ISO_8859_1)
        .replace("\r", "\\r")
        .replace("\n", "\\n")
        .replaceAll("[^ -~]", "?");
  }
}
