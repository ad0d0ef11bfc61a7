package dev.polis.scripts.it;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.polis.fixtures.TestPki;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/**
 * Serves files over HTTPS with the faults that a test sets. Resumes downloads as real servers do.
 */
final class FaultyDownloads implements AutoCloseable {

  /** Names the fault of a download. */
  enum Fault {
    /** No fault. */
    NONE,
    /** The server closes the connection after half of the requested bytes. */
    CUT_OFF,
    /** The server rarely sends a byte. */
    SLOW,
    /** The server has no such file. */
    MISSING,
    /** The server answers a range with the whole file, like one without support for ranges. */
    NO_RANGES
  }

  private static final String NAME = "localhost";
  private static final char[] PASSWORD = "test".toCharArray();
  private static final long BYTE_MILLIS = 100;

  private final HttpsServer server;
  private final ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor();
  private final Map<String, byte[]> files = new ConcurrentHashMap<>();
  private final List<String> requests = new CopyOnWriteArrayList<>();
  private final CountDownLatch closed = new CountDownLatch(1);
  private final AtomicInteger faults = new AtomicInteger();
  private final Path authority;
  private volatile Fault fault = Fault.NONE;
  private volatile String faultyFile = "";

  /**
   * Starts to serve.
   *
   * @param folder the folder for the certificate that clients must trust
   */
  FaultyDownloads(Path folder) throws IOException, GeneralSecurityException {
    TestPki pki = new TestPki();
    this.authority = folder.resolve("downloads-ca.pem");
    Files.writeString(
        authority,
        "-----BEGIN CERTIFICATE-----\n"
            + Base64.getMimeEncoder().encodeToString(pki.authority().getEncoded())
            + "\n-----END CERTIFICATE-----\n");
    this.server =
        HttpsServer.create(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0), 0);
    server.setHttpsConfigurator(new HttpsConfigurator(tls(pki)));
    server.setExecutor(workers);
    server.createContext("/", this::answer);
    server.start();
  }

  private static SSLContext tls(TestPki pki) throws IOException, GeneralSecurityException {
    TestPki.Identity identity = pki.issue(NAME, NAME);
    KeyStore keys = KeyStore.getInstance("PKCS12");
    keys.load(null, PASSWORD);
    keys.setKeyEntry(
        NAME,
        identity.key(),
        PASSWORD,
        new Certificate[] {identity.certificate(), pki.authority()});
    KeyManagerFactory managers = KeyManagerFactory.getInstance("PKIX");
    managers.init(keys, PASSWORD);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(managers.getKeyManagers(), null, null);
    return context;
  }

  /** Serves a file at each path that ends with this name. */
  void serve(String name, byte[] content) {
    files.put(name, content);
  }

  /** Packs the content of a folder, serves the archive, and returns its SHA-256. */
  String pack(ScriptFolder scripts, String folder, String name) throws Exception {
    Path archive = scripts.path(name);
    Path packed = scripts.path(folder);
    List<String> line = new ArrayList<>(List.of("tar", "-czf", archive.toString()));
    line.addAll(List.of("-C", packed.toString()));
    try (Stream<Path> content = Files.list(packed)) {
      content.map(file -> file.getFileName().toString()).sorted().forEach(line::add);
    }
    scripts.finish(line).requireSuccess("tar");
    serve(name, Files.readAllBytes(archive));
    return digest("SHA-256", name);
  }

  /** Returns the digest of a file that is served. */
  String digest(String algorithm, String name) throws GeneralSecurityException {
    return HexFormat.of().formatHex(MessageDigest.getInstance(algorithm).digest(content(name)));
  }

  byte[] content(String name) {
    return files.get(name);
  }

  /** Lets the next requests for one file fail, so many times. */
  void fail(String name, Fault how, int times) {
    faultyFile = name;
    faults.set(times);
    fault = how;
  }

  /** Serves all files without faults from now on. */
  void recover() {
    fault = Fault.NONE;
  }

  String url() {
    return "https://" + NAME + ":" + server.getAddress().getPort();
  }

  /** Returns the file with the certificate that a client must trust. */
  Path authority() {
    return authority;
  }

  /** Returns the names of the requested files, each with its range if there was one. */
  List<String> requests() {
    return List.copyOf(requests);
  }

  private void answer(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    String name = path.substring(path.lastIndexOf('/') + 1);
    String range = exchange.getRequestHeaders().getFirst("Range");
    requests.add(range == null ? name : name + " " + range);
    byte[] content = files.get(name);
    Fault now = name.equals(faultyFile) && faults.getAndDecrement() > 0 ? fault : Fault.NONE;
    if (content == null || now == Fault.MISSING) {
      exchange.sendResponseHeaders(404, -1);
      exchange.close();
      return;
    }
    boolean whole = range == null || now == Fault.NO_RANGES;
    int from = whole ? 0 : Integer.parseInt(range.substring("bytes=".length()).replace("-", ""));
    if (from >= content.length) {
      exchange.sendResponseHeaders(416, -1);
      exchange.close();
      return;
    }
    if (!whole) {
      exchange
          .getResponseHeaders()
          .set(
              "Content-Range",
              "bytes %d-%d/%d".formatted(from, content.length - 1, content.length));
    }
    exchange.sendResponseHeaders(whole ? 200 : 206, content.length - from);
    send(exchange, content, from, now);
  }

  private void send(HttpExchange exchange, byte[] content, int from, Fault now) throws IOException {
    int rest = content.length - from;
    try (exchange) {
      OutputStream out = exchange.getResponseBody();
      switch (now) {
        case CUT_OFF -> {
          out.write(content, from, rest / 2);
          out.flush();
        }
        case SLOW -> drip(out, content, from);
        default -> out.write(content, from, rest);
      }
    }
  }

  private void drip(OutputStream out, byte[] content, int from) throws IOException {
    try {
      for (int at = from;
          at < content.length && !closed.await(BYTE_MILLIS, TimeUnit.MILLISECONDS);
          at++) {
        out.write(content[at]);
        out.flush();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    closed.countDown();
    server.stop(0);
    workers.shutdownNow();
  }

  /** Returns the bytes of a text. */
  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
