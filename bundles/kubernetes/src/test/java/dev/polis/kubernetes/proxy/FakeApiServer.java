package dev.polis.kubernetes.proxy;

import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;

/** Stands for an API server behind mutual TLS: answers each request as the test sets. */
final class FakeApiServer implements AutoCloseable {

  /** Answers one request; returns true to keep the connection. */
  interface Answer {
    boolean to(Request request, SSLSocket connection, InputStream in, OutputStream out)
        throws IOException;
  }

  /** A request, with its body without the framing. */
  record Request(String line, HttpHead head, String body, boolean certified) {
    List<String> header(String name) {
      return head.values(name);
    }
  }

  final List<Request> requests = new CopyOnWriteArrayList<>();
  final AtomicInteger connections = new AtomicInteger();
  volatile Answer answer = (request, connection, in, out) -> text(out, "hello");

  private final CertificateAuthority identities = CertificateAuthority.create("id-ca");
  private final CertificateAuthority aggregation = CertificateAuthority.create("aggregation-ca");
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final Set<SSLSocket> open = ConcurrentHashMap.newKeySet();
  private final SSLServerSocket server;

  FakeApiServer() throws IOException {
    SSLContext tls =
        TlsContexts.context(
            TlsKeys.fixed(
                issue(
                    identities,
                    CertificateTemplate.server(
                        "kubernetes", List.of(KubernetesNames.SERVER_NAME), List.of()))),
            TlsTrust.authority(TlsTrust.Source.of(aggregation.certificate())));
    server =
        (SSLServerSocket)
            tls.getServerSocketFactory()
                .createServerSocket(0, 50, InetAddress.getLoopbackAddress());
    SSLParameters parameters = TlsContexts.serverParameters();
    parameters.setWantClientAuth(true);
    server.setSSLParameters(parameters);
    threads.execute(this::acceptAll);
  }

  private static TlsIdentity issue(CertificateAuthority ca, CertificateTemplate template) {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), ca.issue(template, pair.getPublic()));
  }

  ProxyBackend.Present backend() {
    TlsIdentity proxy =
        issue(aggregation, CertificateTemplate.client("metropolis-auth-proxy-client"));
    return new ProxyBackend.Present(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), server.getLocalPort()),
        TlsContexts.context(
            TlsKeys.fixed(proxy), TlsTrust.authority(TlsTrust.Source.of(identities.certificate()))),
        TlsContexts.anonymous(TlsTrust.authority(TlsTrust.Source.of(identities.certificate()))));
  }

  private void acceptAll() {
    while (!server.isClosed()) {
      try {
        SSLSocket connection = (SSLSocket) server.accept();
        open.add(connection);
        connections.incrementAndGet();
        threads.execute(() -> serve(connection));
      } catch (IOException closed) {
        // The loop ends with the server.
      }
    }
  }

  private void serve(SSLSocket connection) {
    try (connection) {
      InputStream in = new BufferedInputStream(connection.getInputStream());
      OutputStream out = connection.getOutputStream();
      boolean more = true;
      while (more) {
        HttpHead head = HttpHead.read(in, HttpHead.MOST_BYTES);
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        HttpBody.ofRequest(head).copy(in, body, () -> {});
        Request request =
            new Request(
                head.line(),
                head,
                body.toString(StandardCharsets.ISO_8859_1),
                certified(connection));
        requests.add(request);
        more = answer.to(request, connection, in, out);
      }
    } catch (IOException ended) {
      // The proxy has closed the connection.
    } finally {
      open.remove(connection);
    }
  }

  private static boolean certified(SSLSocket connection) {
    try {
      return connection.getSession().getPeerCertificates().length > 0;
    } catch (SSLPeerUnverifiedException none) {
      return false;
    }
  }

  /** Answers with a text of known length. */
  static boolean text(OutputStream out, String text) throws IOException {
    out.write(
        ("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"
                .formatted(text.length(), text))
            .getBytes(StandardCharsets.ISO_8859_1));
    out.flush();
    return true;
  }

  static void write(OutputStream out, String text) throws IOException {
    out.write(text.getBytes(StandardCharsets.ISO_8859_1));
    out.flush();
  }

  /** Ends all connections, as a restarted server does. */
  void drop() throws IOException {
    for (SSLSocket each : open) {
      each.close();
    }
  }

  Optional<Request> last() {
    return requests.isEmpty() ? Optional.empty() : Optional.of(requests.getLast());
  }

  @Override
  public void close() throws IOException {
    server.close();
    drop();
    threads.shutdownNow();
  }
}
