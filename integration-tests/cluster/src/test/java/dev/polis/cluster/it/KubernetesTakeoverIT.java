package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kills the controller of Kubernetes that kubectl uses, in a cluster that has two. */
@Tag("full")
class KubernetesTakeoverIT {

  private static final String FIRST = "127.0.68.1";
  private static final String SECOND = "127.0.68.2";
  private static final String ROLE = "KubernetesController";

  /** Two API servers take up to a minute on a shared machine. */
  private static final Duration PATIENCE = Duration.ofSeconds(180);

  @TempDir static Path directory;

  @Test
  @DisplayName(
      "D-49 the kubeconfig names both controllers: the chosen one is killed, and the other one answers with the same file, and is chosen by the next kubeconfig")
  void anotherController() throws Exception {
    Path programs = Path.of(System.getenv().getOrDefault("POLIS_KUBERNETES", ""));
    Assumptions.assumeTrue(
        Files.isExecutable(programs.resolve("bin/kubectl")),
        "a control plane needs Kubernetes' programs; POLIS_KUBERNETES names their folder");
    String[] options = {"--set", "dev.polis.kubernetes.programs=" + programs};
    TestNode founder = TestNode.member(directory.resolve("first"), FIRST, Mode.INSECURE);
    try (GrowingCluster cluster = new GrowingCluster(directory, founder.always(options));
        TestNode second = cluster.joining("second", SECOND).always(options)) {
      String id = cluster.admit(second);
      cluster.becomeVoter(second, id);
      cluster.change("node", "role", "add", id, ROLE);
      Path config = directory.resolve("kubeconfig");
      kubeconfig(cluster, config);
      String one = context(cluster.firstId());
      String other = context(id);
      for (String each : List.of(one, other)) {
        // The second one is in the file once its node has reported the role.
        Await.until(
            PATIENCE,
            each + " to answer",
            () -> {
              kubeconfig(cluster, config);
              return namespaces(programs, config, each).code() == 0;
            },
            () -> namespaces(programs, config, each).all());
      }
      assertEquals(0, namespaces(programs, config, "polis").code());
      String text = Files.readString(config);
      boolean first = chosen(programs, config).contains(FIRST);
      String next = first ? other : one;

      // Its etcd lives on, as a third voter would: two alone have no majority without it.
      (first ? founder : second).killJvm();
      assertNotEquals(0, namespaces(programs, config, "polis").code());
      Await.until(
          PATIENCE,
          "the other controller to answer",
          () -> namespaces(programs, config, next).code() == 0,
          () -> namespaces(programs, config, next).all());
      assertEquals(text, Files.readString(config));

      cluster.awaitLeader();
      Await.until(
          PATIENCE,
          "the next kubeconfig to choose the other controller",
          () -> {
            kubeconfig(cluster, config);
            return chosen(programs, config).contains(first ? SECOND : FIRST);
          },
          () -> Files.readString(config));
      namespaces(programs, config, "polis").requireSuccess("get");
    }
  }

  private static void kubeconfig(GrowingCluster cluster, Path to) {
    cluster.ctl("kubeconfig", "--to", to.toString()).requireSuccess("kubeconfig");
  }

  private static String context(String id) {
    return "polis-" + id.substring("metropolis-".length()).substring(0, 8);
  }

  /** Returns the address of the controller of the present context. */
  private static String chosen(Path programs, Path config) throws Exception {
    return kubectl(
            programs, config, "config", "view", "--minify", "-o", "jsonpath={..cluster.server}")
        .requireSuccess("config view")
        .out();
  }

  private static Finished namespaces(Path programs, Path config, String context) throws Exception {
    return kubectl(programs, config, "--context", context, "get", "namespaces");
  }

  private static Finished kubectl(Path programs, Path config, String... arguments)
      throws Exception {
    return Finished.of(
        Stream.concat(
                Stream.of(
                    programs.resolve("bin/kubectl").toString(), "--kubeconfig", config.toString()),
                Stream.of(arguments))
            .toList(),
        Map.of(),
        PATIENCE);
  }
}
