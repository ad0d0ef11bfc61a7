package dev.polis.kubernetes.control;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.pki.Pem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Lets every certificate of a running control plane expire and be replaced. */
class RotationTest {

  /** Certificates begin five minutes in the past, so these are due 13 s after their issue. */
  private static final Duration LIFE = Duration.ofSeconds(170);

  private static final Duration CALLS = Duration.ofSeconds(240);

  @Test
  @EnabledIfSystemProperty(
      named = "polis.long",
      matches = "true",
      disabledReason = "it takes four minutes; -Dpolis.long=true runs it")
  @DisplayName("every certificate expires and is replaced, no call fails, and no program restarts")
  void rotates() throws Exception {
    try (ControlHarness harness = ControlHarness.open()) {
      harness.start(LIFE);
      ControlAccess access = harness.awaitAccess();
      try (KubeClient api = access.open()) {
        while (!KubernetesPrograms.ofController().stream()
            .allMatch(each -> harness.processes.find(each).isPresent())) {
          api.list("/api/v1/namespaces");
        }
      }
      Map<String, Long> pids = pids(harness);
      Map<String, X509Certificate> before = certificates(harness);
      List<String> failures = new ArrayList<>();
      Instant end = Instant.now().plus(CALLS);
      int calls = 0;
      while (Instant.now().isBefore(end)) {
        calls++;
        // A client of its own has a handshake of its own.
        try (KubeClient api = access.open()) {
          api.list("/api/v1/namespaces");
          write(api, calls);
        } catch (IOException failed) {
          failures.add(Instant.now() + " " + failed);
        }
      }
      assertEquals(List.of(), failures, "of " + calls + " calls");
      assertEquals(pids, pids(harness));
      Map<String, X509Certificate> after = certificates(harness);
      for (String each : before.keySet()) {
        assertTrue(
            before.get(each).getNotAfter().toInstant().isBefore(Instant.now()),
            each + " has expired");
        assertTrue(
            after.get(each).getNotAfter().toInstant().isAfter(Instant.now()), each + " is valid");
      }
    }
  }

  private static void write(KubeClient api, int number) throws IOException, InterruptedException {
    JsonObject map =
        JsonParser.parseString(
                "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\":"
                    + " \"calls\"}, \"data\": {\"number\": \"%d\"}}".formatted(number))
            .getAsJsonObject();
    api.apply("/api/v1/namespaces/default/configmaps/calls", "test", map);
  }

  private static Map<String, Long> pids(ControlHarness harness) {
    Map<String, Long> pids = new TreeMap<>();
    KubernetesPrograms.ofController().forEach(each -> pids.put(each, harness.pid(each)));
    return pids;
  }

  /** Returns the certificates of all files but those of etcd, which consensus renews. */
  private static Map<String, X509Certificate> certificates(ControlHarness harness)
      throws IOException {
    Path folder = harness.folder(ControlFolder.FOLDER).path();
    Map<String, X509Certificate> found = new TreeMap<>();
    for (ControlFile each :
        List.of(
            ControlFile.API_SERVER,
            ControlFile.API_SERVER_KUBELET_CLIENT,
            ControlFile.FRONT_PROXY_CLIENT,
            ControlFile.CONTROLLER_MANAGER,
            ControlFile.CONTROLLER_MANAGER_CLIENT,
            ControlFile.SCHEDULER,
            ControlFile.SCHEDULER_CLIENT)) {
      String pem = Files.readString(folder.resolve(each.fileName()));
      found.put(each.fileName(), Pem.certificate(pem));
    }
    return found;
  }
}
