package dev.polis.node.options;

import dev.polis.files.layout.Root;
import dev.polis.node.exit.Refusal;
import dev.polis.plugins.metatype.ConfigurationKeys;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.Generation;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Dictionary;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import picocli.CommandLine.Option;

/**
 * Declares the options of a node on the command line. Where an option of an organ has no
 * counterpart in its configuration, the option is refused. What was not given is null, as the
 * parser leaves it.
 */
public final class NodeOptions {
  private static final Path STANDARD_INPUT = Path.of("-");
  private static final String SWAPS = "dev.polis.plugins";
  private static final String DEBUG = "dev.polis.debug";
  private static final String SHELL_FOLDER = "shell.folder";

  @Option(
      names = "--state",
      required = true,
      paramLabel = "DIR",
      description = "State directory of the node.")
  private Path state;

  @Option(
      names = "--address",
      paramLabel = "IP",
      description =
          "The node's address; default 127.0.0.1, with --manage-network the first one that its"
              + " network gives it.")
  private String address = "";

  @Option(
      names = "--manage-network",
      description =
          "The node owns the interfaces of its machine or network namespace, and applies the"
              + " network_config of its parameters; without one it asks DHCP.")
  private boolean manageNetwork;

  @Option(
      names = "--etcd",
      paramLabel = "DIR",
      description = "Folder that holds etcd; default: looked up in PATH.")
  private Path etcd;

  @Option(
      names = "--security",
      paramLabel = "MODE",
      description = "Security of a new data volume: insecure, encrypted, authenticated-encrypted.")
  private String security;

  @Option(
      names = "--parameters",
      paramLabel = "FILE",
      description = "Node parameters; FILE.json is JSON, all else binary.")
  private Path parameters;

  @Option(
      names = "--recovery-key",
      paramLabel = "FILE",
      description =
          "The owner's recovery key, for an encrypted node that no other can help; - reads it from standard input.")
  private Path recoveryKey;

  @Option(
      names = "--force-new-cluster",
      paramLabel = "ID",
      description =
          "The other members of etcd's cluster ID are lost for ever: this node makes a new cluster"
              + " alone, from its own records.")
  private String lostCluster;

  @Option(
      names = "--restore",
      paramLabel = "FILE",
      description =
          "With --force-new-cluster: the records come from this snapshot of \"polisctl etcd snapshot\".")
  private Path snapshot;

  @Option(
      names = "--log",
      paramLabel = "RULES",
      description = "The entries of the log to print: name=SEVERITY,… Default: =ERROR, all errors.")
  private String log = "=ERROR";

  @Option(
      names = "--set",
      paramLabel = "PID.key=value",
      description =
          "Sets one key of an organ's configuration; may be repeated. \"plan --keys\" lists them.")
  private List<String> settings = new ArrayList<>();

  /**
   * Makes the configurations of organs of the command line and of the generation, which goes before
   * it: it was configured later, on the running node.
   *
   * @param keys what the bundles declare
   * @param generation that is started
   * @param distribution digests of the plugin manifests that came with the platform
   * @param screen receives a line for each key in which the generation overrules the command line
   * @return dictionaries by PID
   * @throws Refusal if no bundle knows an option
   */
  public Map<String, Dictionary<String, Object>> configuration(
      ConfigurationKeys keys,
      Generation generation,
      Set<Digest> distribution,
      Consumer<String> screen)
      throws Refusal {
    NodeSettings all = new NodeSettings();
    Root layout = Root.at(state);
    String root = state.toAbsolutePath().normalize().toString();
    all.imply("dev.polis.storage", "root", root, "--state", keys);
    String records = layout.ephemeral().processes().path().toString();
    all.imply("dev.polis.process", "records", records, "--state", keys);
    if (!address.isEmpty() || !manageNetwork) {
      String one = address.isEmpty() ? "127.0.0.1" : address;
      all.imply("dev.polis.network", "address", one, "--address", keys);
      all.imply("dev.polis.rpc", "address", one, "--address", keys);
    }
    String listeners = layout.ephemeral().listeners().path().toString();
    all.imply("dev.polis.rpc", "listeners.file", listeners, "--state", keys);
    // Another debug organ than ours, or an older one, may have no shell.
    if (keys.of(DEBUG).stream().anyMatch(key -> key.id().equals(SHELL_FOLDER))) {
      all.set(DEBUG, SHELL_FOLDER, layout.ephemeral().shell().path().toString(), "--state");
    }
    all.imply("dev.polis.logtree", "console", log, "--log", keys);
    if (manageNetwork) {
      all.set("dev.polis.network", "manage", "true", "--manage-network");
    }
    if (security != null) {
      all.set("dev.polis.storage", "security", word(security), "--security");
    }
    file(all, "dev.polis.consensus", "etcd", etcd, "--etcd");
    if (lostCluster != null) {
      all.set("dev.polis.consensus", "force.new.cluster", lostCluster, "--force-new-cluster");
    }
    file(all, "dev.polis.consensus", "restore", snapshot, "--restore");
    file(all, "dev.polis.cluster", "parameters", parameters, "--parameters");
    if (asksForRecoveryKey()) {
      all.set("dev.polis.cluster", "recovery.key", STANDARD_INPUT.toString(), "--recovery-key");
    } else {
      file(all, "dev.polis.cluster", "recovery.key", recoveryKey, "--recovery-key");
    }
    String store = layout.plugins().path().toString();
    all.imply(SWAPS, "store", store, "--state", keys);
    for (String setting : settings) {
      all.assign(setting, keys);
    }
    ConfigurationSet commandLine = all.texts();
    overrule(all, generation, commandLine, screen);
    Map<String, Dictionary<String, Object>> resolved = all.resolve(keys);
    if (!keys.of(SWAPS).isEmpty()) {
      // Arrays from the start: in one text, commas would end its values.
      resolved
          .get(SWAPS)
          .put("distribution", distribution.stream().map(Digest::hex).toArray(String[]::new));
      resolved.get(SWAPS).put("commandline", lines(commandLine));
    }
    return resolved;
  }

  private static void overrule(
      NodeSettings all,
      Generation generation,
      ConfigurationSet commandLine,
      Consumer<String> screen) {
    for (ConfigurationSet.Key key : generation.configuration().keys()) {
      String value = generation.configuration().value(key).orElseThrow();
      all.set(key.pid(), key.key(), value, "generation " + generation.number());
      commandLine
          .value(key)
          .filter(given -> !given.equals(value))
          .ifPresent(
              given ->
                  screen.accept(
                      "%s is \"%s\" as configured on the running node (generation %d), not \"%s\" as on the command line; polisctl config unset %s takes it back"
                          .formatted(key, value, generation.number(), given, key)));
    }
  }

  private static String[] lines(ConfigurationSet commandLine) {
    return commandLine.keys().stream()
        .map(key -> key.pid() + " " + key.key() + "=" + commandLine.value(key).orElseThrow())
        .toArray(String[]::new);
  }

  /** Returns the state directory of the node. */
  public Path state() {
    return state;
  }

  /** Returns whether the recovery key comes on standard input. */
  public boolean asksForRecoveryKey() {
    return STANDARD_INPUT.equals(recoveryKey);
  }

  private static void file(
      NodeSettings all, String pid, String key, Path givenOrNull, String option) {
    if (givenOrNull != null) {
      all.set(pid, key, givenOrNull.toAbsolutePath().normalize().toString(), option);
    }
  }

  private static String word(String mode) {
    return mode.toUpperCase(Locale.ROOT).replace('-', '_');
  }
}
