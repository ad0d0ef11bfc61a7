package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.polis.api.containers.Isolation;
import dev.polis.base.values.MutableValue;
import dev.polis.fixtures.Await;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.logtree.LogTree;
import dev.polis.pki.TlsTrust;
import dev.polis.supervision.SupervisionTree;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Decides about claims, volumes and Pods by their objects. */
class VolumeProvisionerTest {

  private static final String NODE = "metropolis-0";
  private static final String BETA_CLASS = "volume.beta.kubernetes.io/storage-class";

  private static JsonObject claim() {
    return JsonParser.parseString(
            """
            {"metadata": {"name": "c", "namespace": "n", "uid": "u-1",
               "annotations": {"volume.kubernetes.io/selected-node": "metropolis-0",
                               "volume.kubernetes.io/storage-provisioner": "polis.dev/local"}},
             "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "local",
                      "resources": {"requests": {"storage": "16Mi"}}}}
            """)
        .getAsJsonObject();
  }

  @Test
  @DisplayName("a claim waits for the node that its Pod was scheduled to, and for no other")
  void waits() {
    assertTrue(VolumeProvisioner.waitsForUs(claim(), NODE));
    assertFalse(VolumeProvisioner.waitsForUs(claim(), "metropolis-1"));
    JsonObject bound = claim();
    bound.getAsJsonObject("spec").addProperty("volumeName", "pvc-u-1");
    assertFalse(VolumeProvisioner.waitsForUs(bound, NODE));
    JsonObject others = claim();
    others
        .getAsJsonObject("metadata")
        .getAsJsonObject("annotations")
        .addProperty("volume.kubernetes.io/storage-provisioner", "example.com/other");
    assertFalse(VolumeProvisioner.waitsForUs(others, NODE));
    JsonObject unscheduled = claim();
    unscheduled.getAsJsonObject("metadata").remove("annotations");
    assertFalse(VolumeProvisioner.waitsForUs(unscheduled, NODE));
  }

  @Test
  @DisplayName("a volume is bound to its claim and its node, and states that it has no quota")
  void volume() {
    JsonObject volume =
        VolumeProvisioner.volume(claim(), "pvc-u-1", Path.of("/v/pvc-u-1"), NODE, "Delete");
    JsonObject spec = volume.getAsJsonObject("spec");
    assertEquals("/v/pvc-u-1", spec.getAsJsonObject("local").get("path").getAsString());
    assertEquals("16Mi", spec.getAsJsonObject("capacity").get("storage").getAsString());
    assertEquals("u-1", spec.getAsJsonObject("claimRef").get("uid").getAsString());
    assertTrue(spec.getAsJsonObject("nodeAffinity").toString().contains(NODE));
    assertTrue(volume.toString().contains("does not enforce"), volume.toString());
  }

  @Test
  @DisplayName("a volume is deleted by its own node, once released, unless its class retains it")
  void released() {
    JsonObject volume =
        VolumeProvisioner.volume(claim(), "pvc-u-1", Path.of("/v/pvc-u-1"), NODE, "Delete");
    assertFalse(VolumeProvisioner.released(volume, NODE));
    volume.add("status", JsonParser.parseString("{\"phase\": \"Released\"}"));
    assertTrue(VolumeProvisioner.released(volume, NODE));
    assertFalse(VolumeProvisioner.released(volume, "metropolis-1"));
    volume.getAsJsonObject("spec").addProperty("persistentVolumeReclaimPolicy", "Retain");
    assertFalse(VolumeProvisioner.released(volume, NODE));
  }

  @Test
  @DisplayName("a volume of a class that retains is kept, with its data, when its claim is deleted")
  void retained() {
    JsonObject volume =
        VolumeProvisioner.volume(claim(), "pvc-u-1", Path.of("/v/pvc-u-1"), NODE, "Retain");
    volume.add("status", JsonParser.parseString("{\"phase\": \"Released\"}"));
    assertFalse(VolumeProvisioner.released(volume, NODE));
  }

  @Test
  @DisplayName("a claim that a directory cannot satisfy is refused by name, with the remedy")
  void refused() {
    assertEquals(Optional.empty(), VolumeRefusal.of(claim()));
    Map<String, String> wrong =
        Map.of(
            "dataSource", "{\"kind\": \"VolumeSnapshot\", \"name\": \"s\"}",
            "dataSourceRef", "{\"kind\": \"PersistentVolumeClaim\", \"name\": \"s\"}",
            "volumeMode", "\"Block\"",
            "accessModes", "[\"ReadWriteOnce\", \"ReadWriteMany\"]");
    wrong.forEach(
        (field, value) -> {
          JsonObject claim = claim();
          claim.getAsJsonObject("spec").add(field, JsonParser.parseString(value));
          String why = VolumeRefusal.of(claim).orElseThrow();
          JsonObject event = VolumeRefusal.event(claim, why, Instant.EPOCH);
          assertTrue(event.toString().contains("u-1"), event::toString);
          assertTrue(why.contains(";"), why);
        });
  }

  /** Plays an API server that holds claims, knows one class and refuses one volume. */
  private static final class Storage implements AutoCloseable {
    final JsonArray claims = new JsonArray();
    final Set<String> volumes = ConcurrentHashMap.newKeySet();
    final Set<String> events = ConcurrentHashMap.newKeySet();
    final CountDownLatch first = new CountDownLatch(1);
    private final CountDownLatch closed = new CountDownLatch(1);
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final HttpServer server;

    Storage() throws IOException {
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      server.setExecutor(threads);
      server.createContext("/", this::answer);
      server.start();
    }

    private void answer(HttpExchange exchange) throws IOException {
      String asked = exchange.getRequestMethod() + " " + exchange.getRequestURI();
      String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      if (asked.contains("watch=true")) {
        exchange.sendResponseHeaders(200, 0);
        try {
          closed.await();
        } catch (InterruptedException ended) {
          Thread.currentThread().interrupt();
        }
      } else if (asked.startsWith("GET /api/v1/persistentvolumeclaims?")) {
        sayOneByOne(exchange);
      } else if (asked.startsWith("GET /api/v1/persistentvolumes?")) {
        say(exchange, 200, list(new JsonArray()));
      } else if (asked.equals("GET /apis/storage.k8s.io/v1/storageclasses/local")) {
        say(exchange, 200, "{\"reclaimPolicy\": \"Delete\"}");
      } else if (asked.equals("POST /api/v1/persistentvolumes") && !body.contains("pvc-refused")) {
        volumes.add(
            JsonParser.parseString(body)
                .getAsJsonObject()
                .getAsJsonObject("metadata")
                .get("name")
                .getAsString());
        first.countDown();
        say(exchange, 201, "{}");
      } else if (asked.equals("POST /api/v1/namespaces/n/events")) {
        events.add(body);
        say(exchange, 201, "{}");
      } else {
        say(exchange, asked.startsWith("GET /apis/storage") ? 404 : 500, "{}");
      }
      exchange.close();
    }

    /** Sends one claim, and the others when a volume was made. */
    private void sayOneByOne(HttpExchange exchange) throws IOException {
      exchange.sendResponseHeaders(200, 0);
      String all = list(claims);
      int end = all.indexOf(claims.get(0).toString()) + claims.get(0).toString().length();
      OutputStream out = exchange.getResponseBody();
      out.write(all.substring(0, end).getBytes(StandardCharsets.UTF_8));
      out.flush();
      try {
        first.await();
      } catch (InterruptedException ended) {
        Thread.currentThread().interrupt();
      }
      out.write(all.substring(end).getBytes(StandardCharsets.UTF_8));
    }

    private static String list(JsonArray items) {
      return "{\"metadata\": {\"resourceVersion\": \"1\"}, \"items\": " + items + "}";
    }

    private static void say(HttpExchange exchange, int code, String json) throws IOException {
      byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(code, bytes.length);
      exchange.getResponseBody().write(bytes);
    }

    /** Adds a claim whose class only the annotation names; an empty name leaves the class out. */
    JsonObject claim(String uid, String node, String storageClass) {
      JsonObject claim = VolumeProvisionerTest.claim();
      JsonObject metadata = claim.getAsJsonObject("metadata");
      metadata.addProperty("uid", uid);
      JsonObject annotations = metadata.getAsJsonObject("annotations");
      annotations.addProperty("volume.kubernetes.io/selected-node", node);
      claim.getAsJsonObject("spec").remove("storageClassName");
      if (!storageClass.isEmpty()) {
        annotations.addProperty(BETA_CLASS, storageClass);
      }
      claims.add(claim);
      return claim;
    }

    boolean told(String uid, String words) {
      return events.stream()
          .anyMatch(event -> event.contains("claim-refused-" + uid) && event.contains(words));
    }

    @Override
    public void close() {
      closed.countDown();
      server.stop(0);
      threads.shutdownNow();
    }
  }

  @Test
  @Timeout(60)
  @Tag("attack")
  @DisplayName(
      "a wrong claim, or one whose volume is refused, does not keep other claims from their volumes")
  void othersGetVolumes(@TempDir Path directory) throws Exception {
    WorkerPlan plan = new WorkerFixture(directory, "127.0.3.1", Isolation.NAMESPACES, 36).plan;
    String node = plan.node().text();
    Path folder = Files.createDirectory(directory.resolve("volumes"));
    MutableValue<WorkerCredentials> credentials = new MutableValue<>();
    // The provisioner only checks that credentials exist.
    credentials.set(new WorkerCredentials(null, null));
    try (Storage storage = new Storage();
        KubeClient client =
            new KubeClient(
                URI.create("http://127.0.0.1:" + storage.server.getAddress().getPort()),
                Optional::empty,
                TlsTrust.anyKey());
        SupervisionTree tree = SupervisionTree.open(LogTree.create())) {
      storage.first.countDown();
      storage.claim("poisoned", node, "local").getAsJsonObject("spec").remove("accessModes");
      storage.claim("refused", node, "local");
      storage.claim("none", node, "");
      storage.claim("foreign", node, "../../../api/v1/secrets");
      storage.claim("old", node, "local");
      storage
          .claim("new", node, "")
          .getAsJsonObject("spec")
          .addProperty("storageClassName", "local");
      tree.organ("test")
          .run("volumes", new VolumeProvisioner(client, plan, folder, credentials)::run);
      Await.until(
          "the other claims to have volumes",
          () -> storage.volumes.equals(Set.of("pvc-old", "pvc-new")));
      Await.until(
          "the event about the missing class",
          () ->
              storage.told("none", "there is no StorageClass")
                  && storage.told("foreign", "there is no StorageClass"));
    }
  }

  @Test
  @Timeout(60)
  @Tag("attack")
  @DisplayName(
      "a claim gets its volume before the next one is read, so that no number of them fills the memory")
  void oneByOne(@TempDir Path directory) throws Exception {
    WorkerPlan plan = new WorkerFixture(directory, "127.0.3.1", Isolation.NAMESPACES, 36).plan;
    Path folder = Files.createDirectory(directory.resolve("volumes"));
    MutableValue<WorkerCredentials> credentials = new MutableValue<>();
    credentials.set(new WorkerCredentials(null, null));
    try (Storage storage = new Storage();
        KubeClient client =
            new KubeClient(
                URI.create("http://127.0.0.1:" + storage.server.getAddress().getPort()),
                Optional::empty,
                TlsTrust.anyKey());
        SupervisionTree tree = SupervisionTree.open(LogTree.create())) {
      storage.claim("one", plan.node().text(), "local");
      storage.claim("other", plan.node().text(), "local");
      tree.organ("test")
          .run("volumes", new VolumeProvisioner(client, plan, folder, credentials)::run);
      Await.until(
          "the claims to have volumes, of which one comes before the other claim",
          () -> storage.volumes.equals(Set.of("pvc-one", "pvc-other")));
    }
  }

  @Test
  @DisplayName("a drain evicts Pods, but not those of DaemonSets")
  void drain() {
    String pod = "{\"metadata\": {\"name\": \"p\", \"namespace\": \"n\"%s}}";
    assertTrue(NodeDrain.concerns(JsonParser.parseString(pod.formatted("")).getAsJsonObject()));
    assertFalse(
        NodeDrain.concerns(
            JsonParser.parseString(
                    pod.formatted(", \"ownerReferences\": [{\"kind\": \"DaemonSet\"}]"))
                .getAsJsonObject()));
  }

  @Test
  @DisplayName(
      "a node is not ready with the kubelet's own reason, or because it has no kubelet yet")
  void notReady() {
    JsonObject node =
        JsonParser.parseString(
                """
                {"spec": {"podCIDR": "10.244.0.0/24"}, "status": {"conditions": [
                  {"type": "Ready", "status": "False", "message": "no CNI configuration"}]}}
                """)
            .getAsJsonObject();
    assertEquals("no CNI configuration", NodeObject.notReady(node).orElseThrow());
    assertEquals("10.244.0.0/24", NodeObject.podRange(node).orElseThrow());
    node.remove("status");
    assertTrue(NodeObject.notReady(node).isPresent());
  }
}
