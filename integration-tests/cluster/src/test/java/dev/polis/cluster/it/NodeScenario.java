package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Tier;
import dev.polis.fixtures.power.PowerLoss.Effort;
import dev.polis.fixtures.power.PowerScenario;
import dev.polis.wire.common.NodeLabels;
import io.grpc.Status;
import io.grpc.StatusException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Boots a node for the first time, takes ownership of it, changes records of its cluster and swaps
 * a configuration. After a loss of power, starts the real node and calls it.
 */
final class NodeScenario implements PowerScenario {

  private static final String LABEL = "power-loss";

  private static final String FRESH =
      ", the owner gets a certificate, a stranger gets none, label none, trusts no key, shell off";

  /** Enough for the plugin store, and etcd's logs of 64 MB. */
  private static final long BYTES = 768L << 20;

  /** The image of the smallest encrypted volume. */
  private static final long IMAGE = 512L << 20;

  private final String address;
  private final StorageModesIT.Mode mode;
  // Null until the node on the recorded disk was prepared.
  private TestNode live;
  private Optional<Identity> identity = Optional.empty();
  private boolean owned;

  /** The node and the cluster of the acknowledged bootstrap. */
  private record Identity(String id, String ca) {

    /** Reads the identity that the node has saved. */
    static Identity of(TestNode node) throws Exception {
      Path ca = node.state().resolve("data/node/credentials/ca.pem");
      return new Identity(Enrolment.certified(node).text(), Files.readString(ca));
    }

    /**
     * Names the relation of a found identity to this one; an unacknowledged bootstrap may begin
     * anew with another cluster.
     */
    String of(Identity found) {
      if (!ca.equals(found.ca)) {
        return "home in a new cluster";
      }
      return id.equals(found.id) ? "home as itself" : "home as another node of its cluster";
    }
  }

  NodeScenario(String address, StorageModesIT.Mode mode) {
    this.address = address;
    this.mode = mode;
  }

  @Override
  public List<Step> steps() {
    return List.of(
        root -> live = TestNode.prepared(state(root), address),
        root -> {
          live.up(options(live));
          identity = Optional.of(Identity.of(live));
        },
        root -> {
          live.takeOwnership();
          // The live node must refuse this, too, as the node after each loss must.
          assertTrue(isRefused(live), "a stranger gets a certificate of the owner");
          owned = true;
        },
        root -> label("1"),
        root -> trust(live),
        root -> label("2"),
        root ->
            live.ctl("config", "set", "dev.polis.debug.shell=true")
                .requireSuccess("set a configuration"));
  }

  private static Path state(Path root) {
    return root.resolve("state");
  }

  /** Returns the options of a start; a sealed volume is opened with the owner's recovery key. */
  private String[] options(TestNode node) {
    List<String> options = new ArrayList<>(List.of("--security", mode.option));
    if (mode.encrypted()) {
      options.addAll(List.of("--set", StorageModesIT.SMALL));
      if (Files.exists(node.state().resolve("esp/sealed_configuration.pb"))) {
        options.addAll(List.of("--recovery-key", node.state() + "/owner/recovery-key.pem"));
      }
    }
    return options.toArray(String[]::new);
  }

  private void label(String value) throws Exception {
    try (OwnerApi owner = OwnerApi.of(live)) {
      owner.label(live.id(), LABEL, value);
    }
  }

  private static void trust(TestNode node) throws Exception {
    Path folder = Files.createTempDirectory("polis-power-key");
    Path key = folder.resolve("key.pem");
    Path publicKey = folder.resolve("key.pem.pub");
    node.ctl("plugin", "key", "make", key.toString()).requireSuccess("make a key");
    node.ctl("plugin", "trust", "add", "release", publicKey.toString()).requireSuccess("trust it");
    Files.delete(key);
    Files.delete(publicKey);
    Files.delete(folder);
  }

  @Override
  public String observe(Path root) throws Exception {
    if (Files.notExists(state(root).resolve("esp/parameters.json"))) {
      return "no parameters";
    }
    if (live != null && live.state().equals(state(root))) {
      if (owned) {
        return words(live, "keeps its certificate");
      }
      return (identity.isPresent() ? "home as itself" : "home in a new cluster") + FRESH;
    }
    TestNode node = TestNode.bare(state(root), address);
    try {
      node.up(options(node));
      return ask(node);
    } finally {
      end(node);
    }
  }

  /** Calls the node as the owner, and describes whether the owner's certificate was lost. */
  private String ask(TestNode node) throws Exception {
    if (Files.exists(node.state().resolve("owner/owner.pem"))) {
      return words(node, "keeps its certificate");
    }
    node.takeOwnership();
    return words(node, "gets a certificate");
  }

  private String words(TestNode node, String certificate) throws Exception {
    String trusted =
        node.ctl("plugin", "trust", "list").requireSuccess("ask for the trusted keys").out();
    String shell =
        node.ctl("config", "get", "dev.polis.debug").requireSuccess("ask for a value").out();
    boolean on = shell.lines().anyMatch(line -> line.contains("shell") && line.contains("true"));
    return "%s, the owner %s, a stranger gets %s, label %s, trusts %s, shell %s"
        .formatted(
            identity.orElseThrow().of(Identity.of(node)),
            certificate,
            isRefused(node) ? "none" : "one",
            labelled(node),
            trusted.contains("release") ? "a key" : "no key",
            on ? "on" : "off");
  }

  private static boolean isRefused(TestNode node) throws Exception {
    ReferenceKey key = ReferenceKey.generate();
    try (ReferenceClient stranger = ReferenceClient.stranger(node.address(), key)) {
      stranger.escrow(key);
      return false;
    } catch (StatusException e) {
      if (e.getStatus().getCode() != Status.Code.PERMISSION_DENIED) {
        throw e;
      }
      return true;
    }
  }

  private static String labelled(TestNode node) throws Exception {
    try (OwnerApi owner = OwnerApi.of(node)) {
      return owner.node(node.id()).getLabels().getPairsList().stream()
          .filter(pair -> pair.getKey().equals(LABEL))
          .map(NodeLabels.Pair::getValue)
          .findFirst()
          .orElse("none");
    }
  }

  private void end(TestNode node) throws Exception {
    CrashKill.BOTH.end(node);
    if (mode.encrypted()) {
      // Ends the volume's server, which would hold the disk.
      node.close();
    }
  }

  @Override
  public void powerOff() throws Exception {
    if (identity.isPresent()) {
      end(live);
    }
  }

  @Override
  public long bytes() {
    return mode.encrypted() ? BYTES + IMAGE : BYTES;
  }

  /** Limits the moments, since each one costs a start of the node. */
  @Override
  public int most(Effort effort) {
    int most = mode.encrypted() ? Tier.pick(0, 2, 20) : Tier.pick(1, 3, 40);
    return Integer.getInteger("polis.power.moments", most);
  }

  /** Runs one at a time, since all use the same address. */
  @Override
  public int together() {
    return 1;
  }
}
