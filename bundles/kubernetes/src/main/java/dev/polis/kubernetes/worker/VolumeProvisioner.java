package dev.polis.kubernetes.worker;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.base.backoff.Backoff;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.files.AtomicFile;
import dev.polis.files.FileTree;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.client.KubeException;
import dev.polis.logtree.Log;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;

/**
 * Makes a persistent volume, a directory on the node's data volume, for each claim whose Pod was
 * scheduled to this node. It deletes the volume with its claim, unless the storage class retains
 * it. A claim that a directory cannot fulfil gets an event with the reason.
 */
final class VolumeProvisioner implements Task {

  /** The name by which storage classes request these volumes. */
  static final String PROVISIONER = "polis.dev/local";

  private static final String SELECTED_NODE = "volume.kubernetes.io/selected-node";
  private static final String ASKED = "volume.kubernetes.io/storage-provisioner";
  private static final String BETA_CLASS = "volume.beta.kubernetes.io/storage-class";
  private static final String PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";
  private static final String NODE = "polis.dev/node";
  private static final String QUOTA = "polis.dev/quota";
  private static final String NO_QUOTA =
      "none: the node does not enforce the size of the claim; the volume shares the node's data volume";

  private static final String CLAIMS = "/api/v1/persistentvolumeclaims";
  private static final String VOLUMES = "/api/v1/persistentvolumes";
  private static final String CLASSES = "/apis/storage.k8s.io/v1/storageclasses";

  /** The pattern of class names; another name would be another path of the API server. */
  private static final Pattern CLASS_NAME = Pattern.compile("[a-z0-9]([-.a-z0-9]*[a-z0-9])?");

  // The mode of a volume: programs of each user may write, as into a volume of a cloud.
  private static final String MODE = "rwxrwxrwx";

  private static final Duration FIRST_PAUSE = Duration.ofMillis(200);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(15);

  private final KubeClient client;
  private final WorkerPlan plan;
  private final Path folder;
  private final Value<WorkerCredentials> credentials;

  VolumeProvisioner(
      KubeClient client, WorkerPlan plan, Path folder, Value<WorkerCredentials> credentials) {
    this.client = client;
    this.plan = plan;
    this.folder = folder;
    this.credentials = credentials;
  }

  @Override
  public void run(Context context) throws InterruptedException {
    try (Watcher<WorkerCredentials> certified = credentials.watch()) {
      certified.get();
    }
    // Two collections, two watches; neither delays the other.
    context.run("claims", new Follow(CLAIMS, this::provision)::run);
    context.run("deletion", new Follow(VOLUMES, this::delete)::run);
    context.healthy();
    context.awaitCancelled();
  }

  /** Is an action on an object of a collection. */
  @FunctionalInterface
  private interface Action {
    void act(JsonObject object, Log log) throws IOException, InterruptedException;
  }

  /** Lists a collection and then watches it, and acts on each existing or changed object. */
  private final class Follow {
    private final String collection;
    private final Action action;

    Follow(String collection, Action action) {
      this.collection = collection;
      this.action = action;
    }

    void run(Context context) throws InterruptedException {
      context.healthy();
      Backoff backoff = new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
      while (true) {
        try {
          follow(context.log(), backoff);
        } catch (IOException e) {
          context.log().info("volumes: %s; trying again", e.getMessage());
        }
        backoff.pause();
      }
    }

    private void follow(Log log, Backoff backoff) throws IOException, InterruptedException {
      AtomicReference<IOException> failed = new AtomicReference<>();
      String version =
          client.each(
              collection,
              object -> {
                try {
                  attempt(object, log);
                } catch (IOException e) {
                  failed.compareAndSet(null, e);
                }
              });
      if (failed.get() != null) {
        // After the other objects.
        throw failed.get();
      }
      backoff.reset();
      client.watch(collection + "?resourceVersion=" + version, event -> act(event, log));
    }

    /** Handles an object; skips an invalid one until it changes. */
    private void attempt(JsonObject object, Log log) throws IOException, InterruptedException {
      try {
        action.act(object, log);
      } catch (RuntimeException wrong) {
        log.error("the node cannot act on %s: %s", collection, named(object), wrong);
      }
    }

    private static String named(JsonObject object) {
      return object.get("metadata") instanceof JsonObject metadata
          ? "%s/%s".formatted(metadata.get("namespace"), metadata.get("name"))
          : "an object without metadata";
    }

    private void act(JsonObject event, Log log) {
      String type = event.get("type").getAsString();
      if (!type.equals("ADDED") && !type.equals("MODIFIED")) {
        return;
      }
      try {
        attempt(event.getAsJsonObject("object"), log);
      } catch (IOException e) {
        // It ends the watch; the next list has the object again.
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new UncheckedIOException(new IOException("interrupted", e));
      }
    }
  }

  /** Makes the volume of a claim for this node. */
  private void provision(JsonObject claim, Log log) throws IOException, InterruptedException {
    if (!waitsForUs(claim, plan.node().text())) {
      return;
    }
    Optional<String> refusal = VolumeRefusal.of(claim);
    String storageClass = storageClass(claim);
    Optional<JsonObject> found =
        CLASS_NAME.matcher(storageClass).matches()
            ? client.find(CLASSES + "/" + storageClass)
            : Optional.empty();
    if (refusal.isPresent() || found.isEmpty()) {
      // The class decides whether to keep the data; a guess might delete them.
      refuse(
          claim,
          refusal.orElse(
              "there is no StorageClass \"%s\"; make it, then make this claim again"
                  .formatted(storageClass)),
          log);
      return;
    }
    JsonObject metadata = claim.getAsJsonObject("metadata");
    String name = "pvc-" + metadata.get("uid").getAsString();
    Path directory = folder.resolve(name);
    makeDirectory(directory);
    String reclaim = found.get().get("reclaimPolicy").getAsString();
    if (create(VOLUMES, volume(claim, name, directory, plan.node().text(), reclaim))) {
      log.info(
          "The node made volume %s for the claim %s/%s; it does not enforce its size.",
          name, metadata.get("namespace").getAsString(), metadata.get("name").getAsString());
    }
  }

  /** Writes an event with the reason why a claim gets no volume. */
  private void refuse(JsonObject claim, String why, Log log)
      throws IOException, InterruptedException {
    JsonObject metadata = claim.getAsJsonObject("metadata");
    String namespace = metadata.get("namespace").getAsString();
    if (create(
        "/api/v1/namespaces/" + namespace + "/events",
        VolumeRefusal.event(claim, why, Instant.now()))) {
      log.info(
          "The claim %s/%s gets no volume: %s", namespace, metadata.get("name").getAsString(), why);
    }
  }

  /** Creates an object; returns false if it exists. */
  private boolean create(String collection, JsonObject object)
      throws IOException, InterruptedException {
    try {
      client.create(collection, object);
      return true;
    } catch (KubeException e) {
      if (e.code() != HttpURLConnection.HTTP_CONFLICT) {
        throw e;
      }
      return false;
    }
  }

  /** Returns whether a claim has no volume yet and its Pod is scheduled to this node. */
  static boolean waitsForUs(JsonObject claim, String node) {
    JsonObject metadata = claim.getAsJsonObject("metadata");
    boolean bound = claim.getAsJsonObject("spec").has("volumeName");
    return !bound
        && !metadata.has("deletionTimestamp")
        && annotation(claim, ASKED).filter(PROVISIONER::equals).isPresent()
        && annotation(claim, SELECTED_NODE).filter(node::equals).isPresent();
  }

  /** Returns the class of a claim by Kubernetes' rules: the old annotation counts first. */
  static String storageClass(JsonObject claim) {
    return annotation(claim, BETA_CLASS)
        .or(
            () ->
                Optional.ofNullable(claim.getAsJsonObject("spec").get("storageClassName"))
                    .map(JsonElement::getAsString))
        .orElse("");
  }

  private static Optional<String> annotation(JsonObject object, String name) {
    return Optional.ofNullable(object.getAsJsonObject("metadata").getAsJsonObject("annotations"))
        .map(annotations -> annotations.get(name))
        .map(JsonElement::getAsString);
  }

  /**
   * Returns the volume that fulfils a claim.
   *
   * @param reclaim the policy after the end of the claim: {@code Delete} or {@code Retain}
   */
  static JsonObject volume(
      JsonObject claim, String name, Path directory, String node, String reclaim) {
    JsonObject metadata = claim.getAsJsonObject("metadata");
    JsonObject spec = claim.getAsJsonObject("spec");
    return JsonText.object(
        Map.of(
            "apiVersion",
            "v1",
            "kind",
            "PersistentVolume",
            "metadata",
            Map.of(
                "name",
                name,
                "annotations",
                Map.of(PROVISIONED_BY, PROVISIONER, NODE, node, QUOTA, NO_QUOTA)),
            "spec",
            Map.of(
                "capacity",
                spec.getAsJsonObject("resources").getAsJsonObject("requests"),
                "accessModes",
                spec.getAsJsonArray("accessModes"),
                "volumeMode",
                "Filesystem",
                "storageClassName",
                storageClass(claim),
                "persistentVolumeReclaimPolicy",
                reclaim,
                "claimRef",
                Map.of(
                    "apiVersion", "v1",
                    "kind", "PersistentVolumeClaim",
                    "namespace", metadata.get("namespace").getAsString(),
                    "name", metadata.get("name").getAsString(),
                    "uid", metadata.get("uid").getAsString()),
                "local",
                Map.of("path", directory),
                "nodeAffinity",
                Map.of(
                    "required",
                    Map.of(
                        "nodeSelectorTerms",
                        List.of(
                            Map.of(
                                "matchExpressions",
                                List.of(
                                    Map.of(
                                        "key", "kubernetes.io/hostname",
                                        "operator", "In",
                                        "values", List.of(node))))))))));
  }

  /**
   * Makes the directory of a volume and forces it to the disk, since the cluster's database keeps
   * its name and no later start makes it again.
   */
  static void makeDirectory(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      Files.createDirectory(directory);
    }
    // Also after a loss of power between the two steps.
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString(MODE));
    AtomicFile.forceEntry(directory);
  }

  /** Deletes a volume of this node that its claim has released. */
  private void delete(JsonObject volume, Log log) throws IOException, InterruptedException {
    if (!released(volume, plan.node().text())) {
      return;
    }
    String name = volume.getAsJsonObject("metadata").get("name").getAsString();
    FileTree.delete(folder.resolve(name));
    client.delete(VOLUMES + "/" + name);
    log.info("The node deleted volume %s with its claim.", name);
  }

  /** Returns whether a released volume is this node's and must be deleted. */
  static boolean released(JsonObject volume, String node) {
    boolean released =
        volume.has("status")
            && volume.getAsJsonObject("status").has("phase")
            && volume.getAsJsonObject("status").get("phase").getAsString().equals("Released");
    return released
        && annotation(volume, PROVISIONED_BY).filter(PROVISIONER::equals).isPresent()
        && annotation(volume, NODE).filter(node::equals).isPresent()
        && volume
            .getAsJsonObject("spec")
            .get("persistentVolumeReclaimPolicy")
            .getAsString()
            .equals("Delete");
  }
}
