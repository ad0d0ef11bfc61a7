package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Identity;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsTrust;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Lets every certificate of a worker expire. Its programs start with short-lived certificates,
 * which the test signs with the cluster's own authority, over the worker's own keys; the curator
 * issues the next ones.
 */
class KubernetesRotationIT {

  /** The time within which a program of Kubernetes reads its client certificate again. */
  private static final Duration REREAD = Duration.ofMinutes(5);

  /** The interval at which the worker checks for due certificates. */
  private static final Duration CHECK = Duration.ofMinutes(1);

  /** The time until the first certificates are due, in which a worker becomes Ready. */
  private static final Duration FRESH = Duration.ofSeconds(100);

  private static final Duration SLACK = Duration.ofMinutes(1);

  /** Certificates begin so long before their issue, to tolerate differing clocks. */
  private static final Duration SKEW = Duration.ofMinutes(5);

  private static final List<String> FILES =
      List.of("kubelet-server", "kubelet-client", "csi-provisioner", "netservices");

  private static final List<String> PROGRAMS = List.of("kubelet", "kube-proxy", "coredns");

  private static final int KUBELET_PORT = 10_250;

  private static final String OBJECTS =
      """
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec:
            terminationGracePeriodSeconds: 0
            containers:
            - name: web
              image: %1$s
              imagePullPolicy: Never
              command: [sh, -c, "mkdir /www; echo hello > /www/index.html; exec httpd -f -p 8080 -h /www"]
      ---
      apiVersion: v1
      kind: Service
      metadata: {name: web}
      spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
      ---
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: asking}
      spec:
        selector: {matchLabels: {app: asking}}
        template:
          metadata: {labels: {app: asking}}
          spec:
            terminationGracePeriodSeconds: 0
            containers:
            - name: asking
              image: %1$s
              imagePullPolicy: Never
              command: [sh, -c, "sleep 1000000"]
      """
          .formatted(BusyboxImage.NAME);

  private static final String LATER =
      """
      apiVersion: v1
      kind: Service
      metadata: {name: later}
      spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
      ---
      apiVersion: v1
      kind: PersistentVolumeClaim
      metadata: {name: later}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
      ---
      apiVersion: v1
      kind: Pod
      metadata: {name: later}
      spec:
        terminationGracePeriodSeconds: 0
        containers:
        - name: later
          image: %s
          imagePullPolicy: Never
          command: [sh, -c, "echo here > /data/file; sleep 1000000"]
          volumeMounts: [{name: data, mountPath: /data}]
        volumes: [{name: data, persistentVolumeClaim: {claimName: later}}]
      """
          .formatted(BusyboxImage.NAME);

  @TempDir Path directory;

  @Test
  @Tag("long")
  @DisplayName(
      "every certificate of a worker expires and is replaced, no call fails, no program restarts")
  void expired() throws Exception {
    KubernetesNode.assumeSupported();
    try (KubernetesNode node = KubernetesNode.started(directory.resolve("n"), "127.0.69.1")) {
      node.awaitReady();
      node.loadImages(BusyboxImage.write(node.program("busybox"), directory.resolve("image")));
      Instant end = replaceByShort(node);
      node.apply(OBJECTS);
      for (String name : List.of("web", "asking")) {
        node.said("rollout", "status", "deployment/" + name, "--timeout=120s");
      }
      String before = ready(node);
      Map<String, Long> pids = pids(node);
      Map<String, BigInteger> serials = serials(node);
      assertEquals(serials.get("kubelet-server"), shown(node).getSerialNumber());

      try (SteadyCaller logs = SteadyCaller.of(() -> node.said("logs", "deployment/web"));
          SteadyCaller service = SteadyCaller.of(() -> ask(node, "web"))) {
        logs.awaitMore("at first");
        service.awaitMore("at first");
        Instant enough = end.plusSeconds(30);
        Await.until(
            Duration.between(Instant.now(), enough).plusSeconds(10),
            "the first certificates to have expired",
            () -> {
              logs.check("while certificates were renewed");
              service.check("while certificates were renewed");
              return Instant.now().isAfter(enough);
            });
        // Needs the kubelet, the service proxy, DNS and the provisioner at the API server.
        node.apply(LATER);
        node.said("wait", "--for=condition=Ready", "pod/later", "--timeout=120s");
        Await.until(KubernetesNode.PATIENCE, "a new Service", () -> answers(node, "later"));
        logs.awaitMore("at last");
        service.awaitMore("at last");
      }
      Map<String, BigInteger> now = serials(node);
      serials.forEach((name, serial) -> assertNotEquals(serial, now.get(name), name));
      assertEquals(now.get("kubelet-server"), shown(node).getSerialNumber());
      assertEquals(pids, pids(node));
      assertEquals(before, ready(node), "since when the node is Ready");
    }
  }

  private static void ask(KubernetesNode node, String service) throws Exception {
    assertEquals(
        "hello",
        node.said("exec", "deployment/asking", "--", "wget", "-q", "-O", "-", "http://" + service));
  }

  private static boolean answers(KubernetesNode node, String service) throws Exception {
    return node.kubectl(
                "exec", "deployment/asking", "--", "wget", "-q", "-O", "-", "http://" + service)
            .code()
        == 0;
  }

  /** Returns the instant at which the node became Ready, which changes with each flip. */
  private static String ready(KubernetesNode node) throws Exception {
    return node.said(
        "get",
        "nodes",
        "-o",
        "jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].lastTransitionTime}");
  }

  private static Map<String, Long> pids(KubernetesNode node) {
    Map<String, Long> pids = new TreeMap<>();
    for (String program : PROGRAMS) {
      node.node().children(program).forEach(child -> pids.put(program, child.pid()));
    }
    assertEquals(PROGRAMS.size(), pids.size(), pids::toString);
    return pids;
  }

  private static Path files(KubernetesNode node) {
    return node.node().state().resolve("data/kubernetes-worker");
  }

  private static X509Certificate certificate(KubernetesNode node, String name) throws IOException {
    return Pem.certificate(Files.readString(files(node).resolve(name + ".crt")));
  }

  private static Map<String, BigInteger> serials(KubernetesNode node) throws IOException {
    Map<String, BigInteger> serials = new TreeMap<>();
    for (String name : FILES) {
      serials.put(name, certificate(node, name).getSerialNumber());
    }
    return serials;
  }

  /** Returns the certificate that the kubelet shows in a new handshake. */
  private static X509Certificate shown(KubernetesNode node) throws Exception {
    String address =
        node.said(
            "get",
            "nodes",
            "-o",
            "jsonpath={.items[*].status.addresses[?(@.type==\"InternalIP\")].address}");
    try (SSLSocket socket =
        (SSLSocket)
            TlsContexts.anonymous(TlsTrust.anyKey())
                .getSocketFactory()
                .createSocket(InetAddress.ofLiteral(address), KUBELET_PORT)) {
      socket.startHandshake();
      return (X509Certificate) socket.getSession().getPeerCertificates()[0];
    }
  }

  /**
   * Removes the role, replaces its certificates, which stay on the disk, and adds the role again.
   *
   * @return the end of the certificates with which the programs start
   */
  private static Instant replaceByShort(KubernetesNode node) throws Exception {
    String id = node.node().id();
    String role = "KubernetesWorker";
    node.node().ctl("node", "role", "remove", id, role).requireSuccess("role remove");
    Await.until(
        KubernetesNode.PATIENCE,
        "the worker's programs to end",
        () ->
            Stream.concat(PROGRAMS.stream(), Stream.of("containerd"))
                .allMatch(each -> node.node().children(each).isEmpty()));

    // They are due when a third of their validity is left.
    Duration left = FRESH.plus(CHECK).plus(REREAD).plus(SLACK);
    Duration life = left.minus(FRESH).multipliedBy(3);
    Instant now = Instant.now();
    Instant issued = now.plus(left).minus(life).plus(SKEW);
    CertificateAuthority authority = authority(node, issued);
    for (String name : FILES) {
      X509Certificate present = certificate(node, name);
      Files.writeString(
          files(node).resolve(name + ".crt"),
          Pem.encode(
              authority.issue(
                  template(present).withLifetime(life.minus(SKEW)), present.getPublicKey())));
    }
    node.node().ctl("node", "role", "add", id, role).requireSuccess("role add");
    node.awaitReady();
    Instant end = certificate(node, "kubelet-client").getNotAfter().toInstant();
    assertTrue(
        end.isBefore(now.plus(left).plusSeconds(1)),
        "the worker uses the certificates that it found");
    return end;
  }

  private static CertificateTemplate template(X509Certificate present) {
    String name = Identity.commonName(present).orElseThrow();
    CertificateTemplate made =
        Identity.usages(present).contains(Identity.SERVER_AUTH)
            ? CertificateTemplate.server(
                name, Identity.dnsNames(present), List.copyOf(Identity.addresses(present)))
            : CertificateTemplate.client(name);
    return made.withOrganizations(Identity.organizations(present));
  }

  /** Returns the authority of Kubernetes, with the key that the curator has. */
  private static CertificateAuthority authority(KubernetesNode node, Instant clock)
      throws Exception {
    JsonObject status =
        node.node().json("etcd", "status").getAsJsonArray().get(0).getAsJsonObject();
    List<String> command =
        new ArrayList<>(Arrays.asList(status.get("etcdctl").getAsString().split(" ")));
    command.set(0, EtcdBinary.folder().resolve("etcdctl").toString());
    // In contrast to the other call, which lists all keys, this one gets its command from the
    // caller.
    command.subList(command.indexOf("get"), command.size()).clear();
    return new CertificateAuthority(
        Ed25519.privateKey(stored(command, "keys/id-ca-privkey.bin")),
        Pem.certificate(stored(command, "issued/id-ca-cert.der")),
        () -> clock);
  }

  private static byte[] stored(List<String> etcdctl, String name) throws Exception {
    List<String> command = new ArrayList<>(etcdctl);
    command.addAll(List.of("get", "namespaced:kubernetes//kube-pki/" + name, "-w", "json"));
    String found =
        TestNode.finish(command, Map.of("ETCDCTL_API", "3")).requireSuccess("etcdctl").out();
    return Base64.getDecoder()
        .decode(
            JsonParser.parseString(found)
                .getAsJsonObject()
                .getAsJsonArray("kvs")
                .get(0)
                .getAsJsonObject()
                .get("value")
                .getAsString());
  }
}
