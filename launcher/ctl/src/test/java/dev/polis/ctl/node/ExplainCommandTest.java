package dev.polis.ctl.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ProtocolMessageEnum;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.roles.RoleName;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.ctl.CtlRun;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.WireName;
import dev.polis.supervision.RunState;
import dev.polis.wire.api.Node.Health;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.health.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Requires an entry for each state, role, organ and condition. */
class ExplainCommandTest {

  private static final Set<String> NO_VALUE = Set.of("INVALID", "UNRECOGNIZED");
  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  private static void assertExplained(String kind, Stream<String> names) {
    List<String> all = names.filter(name -> !NO_VALUE.contains(name)).toList();
    assertFalse(all.isEmpty(), "there is no " + kind + " at all: this test looks at nothing");
    Map<String, String> words = ExplainCommand.glossary();
    for (String name : all) {
      assertTrue(
          words.getOrDefault(name, "").contains(kind + ":")
              || words.getOrDefault(name, "").contains(kind + " of the debug service:"),
          "explain.yaml has no entry \"%s\" that says \"%s:\"".formatted(name, kind));
    }
  }

  private static Stream<String> names(Enum<?>[] values) {
    return Arrays.stream(values).map(Enum::name);
  }

  private static Stream<String> wireNames(ProtocolMessageEnum[] values) {
    return Arrays.stream(values).map(WireName::shortened);
  }

  @Test
  void everyClusterStateIsExplained() {
    assertExplained("Cluster state", names(ClusterState.values()));
  }

  @Test
  void everyNodeStateIsExplained() {
    assertExplained("Node state", wireNames(NodeState.values()));
  }

  @Test
  void everyHealthIsExplained() {
    assertExplained("Health", wireNames(Health.values()));
  }

  @Test
  void everyRunStateIsExplained() {
    assertExplained("Supervision", names(RunState.values()));
  }

  @Test
  void everyWellKnownRoleIsExplained() {
    assertExplained(
        "Role",
        Stream.of(
                RoleName.CONSENSUS_MEMBER,
                RoleName.KUBERNETES_CONTROLLER,
                RoleName.KUBERNETES_WORKER)
            .map(RoleName::text));
  }

  @Test
  void everyStorageSecurityIsExplained() {
    assertExplained("Storage", names(StorageSecurity.values()));
  }

  @Test
  void everyOrganIsExplained() throws Exception {
    try (Stream<Path> bundles = Files.list(REPOSITORY.resolve("bundles"))) {
      assertExplained(
          "Organ",
          bundles
              .filter(bundle -> Files.exists(bundle.resolve("pom.xml")))
              .map(bundle -> bundle.getFileName().toString()));
    }
  }

  /** Reads the conditions from the sources of the debug organ, on which no module may depend. */
  @Test
  void everyConditionIsExplained() throws Exception {
    String board =
        Files.readString(
            REPOSITORY.resolve("bundles/debug/src/main/java/dev/polis/debug/DebugConditions.java"));
    List<String> conditions =
        Pattern.compile("\\s\"(\\w+)\",\\s*\\(\\) ->")
            .matcher(board)
            .results()
            .map((MatchResult found) -> found.group(1))
            .toList();
    assertExplained("Condition", conditions.stream());
  }

  @Test
  void everyLevelOfHealthIsExplained() {
    assertExplained("Level", wireNames(Level.values()).filter(name -> !name.equals("UNKNOWN")));
  }

  /** Reads the codes from the sources of the organs, on which no module may depend. */
  @Test
  void everyCodeOfAHealthConditionIsExplained() throws Exception {
    Pattern inPlace =
        Pattern.compile(
            "HealthCondition\\s*\\.(?:up|degraded|waiting|down)\\(\\s*\"([a-z0-9-]+)\"");
    Pattern constant =
        Pattern.compile("String (?!PROCESS\\b)[A-Z_]+ = \"([a-z]+(?:-[a-z0-9]+)+)\";");
    Pattern advice = Pattern.compile("new Advice\\(\\s*\"([a-z0-9-]+)\"");
    Set<String> codes = new TreeSet<>();
    for (String folder : List.of("bundles", "platform/health", "platform/api")) {
      for (Pattern pattern : List.of(inPlace, constant, advice)) {
        codes.addAll(sources(folder, pattern));
      }
    }
    assertExplained("Code", codes.stream());
  }

  private static Set<String> sources(String folder, Pattern code) throws Exception {
    Set<String> found = new TreeSet<>();
    try (Stream<Path> files = Files.walk(REPOSITORY.resolve(folder))) {
      for (Path file : files.filter(each -> each.toString().contains("/main/java/")).toList()) {
        String text = file.toString().endsWith(".java") ? Files.readString(file) : "";
        if (text.contains("HealthCondition") || text.contains("new Advice(")) {
          code.matcher(text).results().forEach(each -> found.add(each.group(1)));
        }
      }
    }
    return found;
  }

  @Test
  void wordsAreFoundInAnyCase_andAllAreListed() {
    assertEquals(CtlRun.of("explain", "HOME"), CtlRun.of("explain", "home"));
    List<String> lines = CtlRun.of("explain").out().lines().toList();
    assertEquals(ExplainCommand.glossary().size() + 1, lines.size());
    String cells = " {3,}";
    assertEquals(List.of("KIND", "WORD", "MEANING"), List.of(lines.getFirst().split(cells)));
    assertEquals(
        ExplainCommand.glossary().keySet(),
        lines.stream()
            .skip(1)
            .map(line -> line.split(cells)[1])
            .collect(Collectors.toCollection(() -> new TreeSet<>(String.CASE_INSENSITIVE_ORDER))));
    assertTrue(
        lines.stream().anyMatch(line -> line.matches("Cluster state {3,}HOME {3,}the node is .*")),
        lines::toString);
  }

  @Test
  void anUnknownWord_isNotFound_andTheNodeWasNotAsked() {
    assertTrue(
        CtlRun.of("explain", "consenus")
            .err()
            .contains("\"consenus\"; did you mean \"consensus\"?; '"));
    CtlRun run = CtlRun.of("explain", "nonsense");
    assertEquals(ExitCode.NOT_FOUND.code(), run.code());
    assertTrue(run.err().contains("\"nonsense\""), run.err());
    assertTrue(run.err().contains("the node was not asked: "), run.err());
  }

  @Test
  void aWordIsExplainedWithoutANode_andItIsSaidWhyTheNodeWasNotAsked() {
    CtlRun run = CtlRun.of("--endpoint", "127.78.1.2", "explain", "consensus");
    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertTrue(run.out().startsWith("Organ: runs etcd"), run.out());
    assertTrue(
        run.out().contains("The node was not asked: 127.78.1.2:7837 does not answer"), run.out());
  }
}
