package dev.polis.ctl.kube;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.ctl.session.CtlException;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

class KubeconfigTest {

  private static final CertificateAuthority CA = CertificateAuthority.create("this cluster");
  private static final List<String> PLUGIN = List.of("/opt/polis", "ctl", "kubernetes-credentials");

  private static KubeEndpoint controller(String digit, String address) {
    return new KubeEndpoint("metropolis-" + digit.repeat(32), address, 6444);
  }

  private static Map<?, ?> parsed(Kubeconfig config) {
    return (Map<?, ?>) new Load(LoadSettings.builder().build()).loadFromString(config.text());
  }

  private static List<String> names(Map<?, ?> config, String list) {
    return ((List<?>) config.get(list))
        .stream().map(entry -> ((Map<?, ?>) entry).get("name").toString()).toList();
  }

  private static Kubeconfig merged(String text, KubeEndpoint... controllers) {
    Kubeconfig config = Kubeconfig.parse(text, "config");
    config.merge("polis", CaBundle.of(CA.certificate()), List.of(controllers), PLUGIN);
    return config;
  }

  @Test
  @DisplayName("a new file has a context for the cluster and one for each controller")
  void everyController() {
    Kubeconfig config = merged("", controller("a", "127.0.0.1"), controller("b", "fd00::2"));
    Map<?, ?> all = parsed(config);
    assertEquals("polis", all.get("current-context"));
    assertEquals(List.of("polis-aaaaaaaa", "polis-bbbbbbbb"), names(all, "clusters"));
    assertEquals(List.of("polis-aaaaaaaa", "polis-bbbbbbbb", "polis"), names(all, "contexts"));
    assertEquals(List.of("polis"), names(all, "users"));
    Map<?, ?> cluster =
        (Map<?, ?>) ((Map<?, ?>) ((List<?>) all.get("clusters")).getLast()).get("cluster");
    assertEquals("https://[fd00::2]:6444", cluster.get("server"));
    assertEquals("metropolis-" + "b".repeat(32), cluster.get("tls-server-name"));
    assertFalse(cluster.get("certificate-authority-data").toString().isBlank());
  }

  @Test
  @DisplayName("other entries of the file stay, and a repetition changes nothing")
  void keepsTheRest() {
    String mine =
        """
        kind: Config
        apiVersion: v1
        x-mine: {answer: "on", port: 12, empty: null, version: "1.10"}
        clusters:
        - name: other
          cluster: {server: "https://other", insecure-skip-tls-verify: true}
        users:
        - name: other
          user: {token: "yes"}
        contexts: []
        current-context: other
        """;
    Kubeconfig once = merged(mine, controller("a", "127.0.0.1"));
    Map<?, ?> all = parsed(once);
    assertEquals(
        Map.of("answer", "on", "port", 12, "version", "1.10"),
        withoutNulls((Map<?, ?>) all.get("x-mine")));
    assertTrue(once.text().contains("\"on\""), "YAML 1.1 takes a bare one for true");
    assertTrue(once.text().contains("\"yes\""));
    assertEquals(List.of("other", "polis-aaaaaaaa"), names(all, "clusters"));
    assertEquals(List.of("other", "polis"), names(all, "users"));
    Kubeconfig twice = Kubeconfig.parse(once.text(), "config");
    twice.merge(
        "polis", CaBundle.of(CA.certificate()), List.of(controller("a", "127.0.0.1")), PLUGIN);
    assertEquals(once.text(), twice.text());
  }

  private static Map<Object, Object> withoutNulls(Map<?, ?> map) {
    Map<Object, Object> kept = new HashMap<>(map);
    kept.values().removeIf(Objects::isNull);
    return kept;
  }

  @Test
  @DisplayName(
      "the entry of a removed controller is deleted, foreign entries with similar names stay")
  void controllersGo() {
    String before = merged("", controller("a", "127.0.0.1"), controller("b", "127.0.0.2")).text();
    Kubeconfig config = Kubeconfig.parse(before, "config");
    config.merge(
        "polis-test", CaBundle.of(CA.certificate()), List.of(controller("c", "127.0.0.3")), PLUGIN);
    config.merge(
        "polis", CaBundle.of(CA.certificate()), List.of(controller("b", "127.0.0.2")), PLUGIN);
    assertEquals(
        List.of("polis-bbbbbbbb", "polis-test-cccccccc"), names(parsed(config), "clusters"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[1, 2]",
        "just words",
        "clusters: {a: b}",
        "users: [1]",
        "a: b: c",
        "contexts: text",
        "\u0000"
      })
  @DisplayName("a file that is not a kubeconfig is refused by name and stays unchanged")
  void refusesOthers(String text) {
    CtlException refused =
        assertThrows(CtlException.class, () -> Kubeconfig.parse(text, "/home/me/.kube/config"));
    assertTrue(
        refused.getMessage().startsWith("/home/me/.kube/config is not a kubeconfig: "),
        refused.getMessage());
    assertTrue(refused.getMessage().contains("--to FILE"), refused.getMessage());
  }
}
