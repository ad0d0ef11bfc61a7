package dev.polis.cluster.it;

import dev.polis.fixtures.power.PowerLoss.Effort;
import dev.polis.fixtures.power.PowerScenario;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Boots a node for the first time, takes ownership of it, changes a record of its cluster and swaps
 * a configuration. After a loss of power the node is started for real, and asked.
 */
final class NodeScenario implements PowerScenario {

  private static final String FRESH = "home, trusts no key, shell off";

  private final String address;
  // Null until the node on the recorded disk was prepared.
  private TestNode live;
  private boolean up;
  private boolean owned;

  NodeScenario(String address) {
    this.address = address;
  }

  @Override
  public List<Step> steps() {
    return List.of(
        root -> live = TestNode.prepared(state(root), address),
        root -> {
          live.up("--security=insecure");
          up = true;
        },
        root -> {
          live.takeOwnership();
          owned = true;
        },
        root -> trust(live),
        root ->
            live.ctl("config", "set", "dev.polis.debug.shell=true")
                .requireSuccess("set a configuration"));
  }

  private static Path state(Path root) {
    return root.resolve("state");
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
      return owned ? words(live) : FRESH;
    }
    TestNode node = TestNode.bare(state(root), address);
    try {
      node.up("--security=insecure");
      return ask(node);
    } finally {
      kill(node);
    }
  }

  /** Asks as the owner; one whose certificate was lost with the power takes another. */
  private static String ask(TestNode node) {
    if (Files.notExists(node.state().resolve("owner/owner.pem"))) {
      node.takeOwnership();
    }
    return words(node);
  }

  private static String words(TestNode node) {
    String trusted =
        node.ctl("plugin", "trust", "list").requireSuccess("ask for the trusted keys").out();
    String shell =
        node.ctl("config", "get", "dev.polis.debug").requireSuccess("ask for a value").out();
    boolean on = shell.lines().anyMatch(line -> line.contains("shell") && line.contains("true"));
    return "home, trusts %s, shell %s"
        .formatted(trusted.contains("release") ? "a key" : "no key", on ? "on" : "off");
  }

  private static void kill(TestNode node) throws Exception {
    node.killJvm();
    for (ProcessHandle child : node.children("etcd")) {
      child.destroyForcibly();
      child.onExit().get();
    }
  }

  @Override
  public void powerOff() throws Exception {
    if (up) {
      kill(live);
      up = false;
    }
  }

  /** The plugin store, and etcd's logs of 64 MB. */
  @Override
  public long bytes() {
    return 768L << 20;
  }

  /** Each is a start of the node. */
  @Override
  public int most(Effort effort) {
    return effort == Effort.LONG ? Integer.getInteger("polis.power.moments", 200) : 2;
  }

  /** They have the same address. */
  @Override
  public int together() {
    return 1;
  }
}
