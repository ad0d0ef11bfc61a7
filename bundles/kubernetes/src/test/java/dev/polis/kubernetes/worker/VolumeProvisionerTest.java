package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Decides about claims, volumes and Pods by their objects. */
class VolumeProvisionerTest {

  private static final String NODE = "metropolis-0";

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
  @DisplayName(
      "a volume is bound to its claim and its node, and says in words that it has no quota")
  void volume() {
    JsonObject volume =
        VolumeProvisioner.volume(claim(), "pvc-u-1", Path.of("/v/pvc-u-1"), NODE, "Delete");
    JsonObject spec = volume.getAsJsonObject("spec");
    assertEquals("/v/pvc-u-1", spec.getAsJsonObject("local").get("path").getAsString());
    assertEquals("16Mi", spec.getAsJsonObject("capacity").get("storage").getAsString());
    assertEquals("u-1", spec.getAsJsonObject("claimRef").get("uid").getAsString());
    assertTrue(spec.getAsJsonObject("nodeAffinity").toString().contains(NODE));
    assertTrue(volume.toString().contains("not enforced"), volume.toString());
  }

  @Test
  @DisplayName("a volume is deleted by its own node, once released, unless it is to be retained")
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
  @DisplayName("a claim for what no directory can be is refused by name, with what to do")
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
  @DisplayName("a node is not ready for the kubelet's own reason, or because there is none yet")
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
