package dev.polis.kubernetes.worker;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Finds claims that a directory on one node cannot fulfil, and reports them to their owners. */
final class VolumeRefusal {

  private static final String REASON = "ProvisioningFailed";

  /** The access modes for Pods of several nodes; the other modes are for one node at a time. */
  private static final Set<String> SHARED = Set.of("ReadWriteMany", "ReadOnlyMany");

  private VolumeRefusal() {}

  /** Returns the reason why a claim gets no volume, with a remedy; empty if it gets one. */
  static Optional<String> of(JsonObject claim) {
    JsonObject spec = claim.getAsJsonObject("spec");
    if (spec.has("dataSource") || spec.has("dataSourceRef")) {
      return Optional.of(
          "a volume of %s begins empty, but the claim names a dataSource; leave it out and copy the data in a Pod"
              .formatted(VolumeProvisioner.PROVISIONER));
    }
    if (spec.has("volumeMode") && !spec.get("volumeMode").getAsString().equals("Filesystem")) {
      return Optional.of(
          "a volume of %s is a directory, but the claim has the volumeMode %s; use Filesystem"
              .formatted(VolumeProvisioner.PROVISIONER, spec.get("volumeMode").getAsString()));
    }
    return spec.getAsJsonArray("accessModes").asList().stream()
        .map(JsonElement::getAsString)
        .filter(SHARED::contains)
        .findFirst()
        .map(
            mode ->
                "a volume of %s is on one node, but the claim has the access mode %s; use ReadWriteOnce"
                    .formatted(VolumeProvisioner.PROVISIONER, mode));
  }

  /** Returns the event about a claim; all events about a claim have one name. */
  static JsonObject event(JsonObject claim, String why, Instant now) {
    JsonObject metadata = claim.getAsJsonObject("metadata");
    String namespace = metadata.get("namespace").getAsString();
    String uid = metadata.get("uid").getAsString();
    String time = now.truncatedTo(ChronoUnit.SECONDS).toString();
    return JsonText.object(
        Map.of(
            "apiVersion",
            "v1",
            "kind",
            "Event",
            "metadata",
            Map.of("name", "claim-refused-" + uid, "namespace", namespace),
            "involvedObject",
            Map.of(
                "apiVersion",
                "v1",
                "kind",
                "PersistentVolumeClaim",
                "namespace",
                namespace,
                "name",
                metadata.get("name").getAsString(),
                "uid",
                uid),
            "type",
            "Warning",
            "reason",
            REASON,
            "message",
            why,
            "source",
            Map.of("component", VolumeProvisioner.PROVISIONER),
            "firstTimestamp",
            time,
            "lastTimestamp",
            time));
  }
}
