package dev.polis.kubernetes.control;

import com.google.gson.JsonObject;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.client.KubeException;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Optional;

/**
 * Takes and keeps a lease of the cluster, so that only one of several controllers acts. Clocks of
 * controllers may differ by less than half the lease's life.
 */
final class KubeLease {

  private static final String COLLECTION =
      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

  /**
   * The life of the lease: three intervals of its holder, which must have died after two missed
   * ones.
   */
  private static final Duration LIFE = Duration.ofSeconds(90);

  private static final DateTimeFormatter MICROSECONDS =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'").withZone(ZoneOffset.UTC);

  private final KubeClient api;
  private final String name;
  private final String holder;
  private final InstantSource clock;

  /**
   * Creates the lease without a request.
   *
   * @param holder the name of this holder
   */
  KubeLease(KubeClient api, String name, String holder, InstantSource clock) {
    this.api = api;
    this.name = name;
    this.holder = holder;
    this.clock = clock;
  }

  /**
   * Takes the lease if it is free, and renews it if this is its holder.
   *
   * @return whether this is the holder now
   */
  boolean hold() throws IOException, InterruptedException {
    Optional<JsonObject> present = api.find(COLLECTION + "/" + name);
    if (present.isPresent() && !mayTake(present.get().getAsJsonObject("spec"))) {
      return false;
    }
    try {
      if (present.isEmpty()) {
        api.create(COLLECTION, lease(Optional.empty()));
      } else {
        JsonObject metadata = present.get().getAsJsonObject("metadata");
        api.replace(
            COLLECTION + "/" + name,
            lease(Optional.of(metadata.get("resourceVersion").getAsString())));
      }
      return true;
    } catch (KubeException refused) {
      if (refused.code() == HttpURLConnection.HTTP_CONFLICT) {
        return false;
      }
      throw refused;
    }
  }

  private boolean mayTake(JsonObject spec) {
    if (!spec.has("holderIdentity") || !spec.has("renewTime")) {
      return true;
    }
    Instant renewed = Instant.parse(spec.get("renewTime").getAsString());
    return spec.get("holderIdentity").getAsString().equals(holder)
        || renewed.plus(LIFE).isBefore(clock.instant());
  }

  private JsonObject lease(Optional<String> version) {
    JsonObject metadata = new JsonObject();
    metadata.addProperty("name", name);
    metadata.addProperty("namespace", "kube-system");
    version.ifPresent(seen -> metadata.addProperty("resourceVersion", seen));
    JsonObject spec = new JsonObject();
    spec.addProperty("holderIdentity", holder);
    spec.addProperty("leaseDurationSeconds", LIFE.toSeconds());
    spec.addProperty("renewTime", MICROSECONDS.format(clock.instant()));
    JsonObject lease = new JsonObject();
    lease.addProperty("apiVersion", "coordination.k8s.io/v1");
    lease.addProperty("kind", "Lease");
    lease.add("metadata", metadata);
    lease.add("spec", spec);
    return lease;
  }
}
