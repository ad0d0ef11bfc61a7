package dev.polis.kubernetes.client;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import dev.polis.fixtures.Await;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsTrust;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class KubeClientTest {

  private final CertificateAuthority authority = CertificateAuthority.create("id-ca");
  private final AtomicReference<TlsIdentity> user = new AtomicReference<>(issue());

  private TlsIdentity issue() {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(
        pair.getPrivate(), authority.issue(CertificateTemplate.client("user"), pair.getPublic()));
  }

  @Test
  @DisplayName("a call under way is answered though its certificate is renewed twice meanwhile")
  void callAcrossRenewals() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch answer = new CountDownLatch(1);
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        KubeClient client =
            new KubeClient(
                URI.create("http://127.0.0.1:" + server.getAddress().getPort()),
                () -> Optional.of(user.get()),
                TlsTrust.authority(TlsTrust.Source.of(authority.certificate())))) {
      server.setExecutor(threads);
      server.createContext(
          "/",
          exchange -> {
            if (exchange.getRequestURI().getPath().equals("/slow")) {
              asked.countDown();
              try {
                answer.await(1, TimeUnit.MINUTES);
              } catch (InterruptedException closed) {
                Thread.currentThread().interrupt();
              }
            }
            byte[] body = "{}".getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
          });
      server.start();
      Future<Boolean> slow = threads.submit(() -> client.find("/slow").isPresent());
      asked.await(1, TimeUnit.MINUTES);
      for (int renewal = 0; renewal < 3; renewal++) {
        user.set(issue());
        assertTrue(client.find("/quick").isPresent());
      }
      answer.countDown();
      Await.until("the slow call to be answered", slow::isDone);
      assertTrue(slow.get());
    } finally {
      server.stop(0);
    }
  }
}
