package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.pki.UserCredentials;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;

/**
 * Requests one object from an API server repeatedly, and measures the longest time without an
 * answer. A 503 with {@code Retry-After} is no answer: clients of Kubernetes then repeat the
 * request.
 */
final class KubernetesCaller implements AutoCloseable {

  /** The longest pause that a user of kubectl accepts. */
  private static final Duration FREEZE = Duration.ofSeconds(2);

  /** The pause between two calls, far below the accepted one. */
  private static final Duration PAUSE = Duration.ofMillis(20);

  /** Long, so that a late answer is distinguished from a missing one. */
  private static final Duration ANSWER = Duration.ofSeconds(30);

  private static final int AGAIN = 503;

  private final String name;
  private final URL url;
  private final SSLContext tls;
  private final MachineSpeed speed = MachineSpeed.measure();
  private final AtomicInteger answered = new AtomicInteger();
  private final AtomicInteger putOff = new AtomicInteger();
  private final AnswerClock clock = new AnswerClock();
  private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
  private volatile boolean ended;
  private final Thread thread;
  private Duration longest = Duration.ZERO; // of the periods that have ended

  private KubernetesCaller(String name, URL url, SSLContext tls) {
    this.name = name;
    this.url = url;
    this.tls = tls;
    this.thread = Thread.ofPlatform().name(name).start(this::run);
  }

  /** Calls the node's port for users, 6444, as the owner. */
  static KubernetesCaller atProxy(KubernetesNode node) throws Exception {
    Path owner = node.node().state().resolve("owner");
    UserCredentials credentials =
        UserCredentials.fromPem(
            Files.readString(owner.resolve("owner-key.pem")),
            Files.readString(owner.resolve("owner.pem")),
            Files.readString(owner.resolve("ca.pem")));
    return new KubernetesCaller(
        "6444",
        url(node.node().address(), 6444, node),
        TlsContexts.context(
            TlsKeys.fixed(credentials.tls()),
            TlsTrust.anyNode(TlsTrust.Source.of(credentials.ca()))));
  }

  /** Calls the API server itself, at 6443, as the kubelet. */
  static KubernetesCaller atServer(KubernetesNode node) throws Exception {
    Path worker = node.node().state().resolve("data/kubernetes-worker");
    String server =
        node.said(
            "get", "endpointslice", "kubernetes", "-o", "jsonpath={.endpoints[0].addresses[0]}");
    return new KubernetesCaller(
        "6443",
        url(server, 6443, node),
        TlsContexts.context(
            TlsKeys.fixed(
                TlsIdentity.of(
                    Pem.privateKey(Files.readString(worker.resolve("kubelet.key"))),
                    Pem.certificate(Files.readString(worker.resolve("kubelet-client.crt"))))),
            TlsTrust.authority(
                TlsTrust.Source.of(Pem.certificate(Files.readString(worker.resolve("ca.crt")))))));
  }

  private static URL url(String host, int port, KubernetesNode node) throws Exception {
    return URI.create("https://%s:%d/api/v1/nodes/%s".formatted(host, port, node.node().id()))
        .toURL();
  }

  private void run() {
    while (!ended) {
      try {
        ask();
      } catch (IOException e) {
        failures.add(e.toString());
      }
      LockSupport.parkNanos(PAUSE.toNanos());
    }
  }

  private void ask() throws IOException {
    long begun = System.nanoTime();
    HttpsURLConnection call = (HttpsURLConnection) url.openConnection();
    call.setSSLSocketFactory(tls.getSocketFactory());
    // Checks the authority only, since names of servers differ from their addresses.
    call.setHostnameVerifier((host, session) -> true);
    call.setConnectTimeout((int) ANSWER.toMillis());
    call.setReadTimeout((int) ANSWER.toMillis());
    int code = call.getResponseCode();
    if (code == AGAIN && call.getHeaderField("Retry-After") != null) {
      putOff.incrementAndGet();
      return;
    }
    if (code != 200) {
      failures.add("code " + code);
      return;
    }
    try (InputStream body = call.getInputStream()) {
      body.readAllBytes();
    }
    clock.answered(begun);
    answered.incrementAndGet();
  }

  /** Waits for the answer to a call that begins now. */
  void awaitAnswer(String when) throws Exception {
    int before = answered.get();
    Await.until(
        ANSWER,
        "answers of the API at %s %s".formatted(name, when),
        () -> answered.get() >= before + 2);
  }

  /** Ends a period, and returns the longest time without an answer in it. */
  Duration endPeriod() {
    // A gap that still lasts counts, too.
    Duration gap = clock.next().gap();
    longest = gap.compareTo(longest) > 0 ? gap : longest;
    return gap;
  }

  /** Fails if a call failed, or none was answered for more than 2 s. */
  void requireNoFreeze(String what) {
    endPeriod();
    String said =
        "%s, API at %s: %d calls answered, %d put off, %d failed; at most %d ms without an answer"
            .formatted(
                what, name, answered.get(), putOff.get(), failures.size(), longest.toMillis());
    System.out.println(said);
    assertEquals(List.of(), List.copyOf(failures), said);
    assertTrue(answered.get() > 0, said);
    speed.assertWithin(said + "; the next one came", FREEZE, longest);
  }

  @Override
  public void close() {
    ended = true;
    thread.interrupt();
  }
}
