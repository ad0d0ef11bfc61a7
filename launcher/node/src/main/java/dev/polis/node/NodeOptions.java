package dev.polis.node;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Dictionary;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Option;

/**
 * Declares the options of a node on the command line. Where an option of an organ has no
 * counterpart in its configuration, the option is refused. What was not given is null, as the
 * parser leaves it.
 */
final class NodeOptions {
  private static final Path STANDARD_INPUT = Path.of("-");

  @Option(
      names = "--state",
      required = true,
      paramLabel = "DIR",
      description = "State directory of the node.")
  Path state;

  @Option(
      names = "--address",
      paramLabel = "IP",
      description = "The node's address; default 127.0.0.1.")
  private String address = "127.0.0.1";

  @Option(
      names = "--manage-network",
      description =
          "The node owns the interfaces of its machine or network namespace, and applies the"
              + " network_config of its parameters.")
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
      names = "--log",
      paramLabel = "RULES",
      description = "What of the log is printed: name=SEVERITY,… Default: =ERROR, all errors.")
  private String log = "=ERROR";

  @Option(
      names = "--set",
      paramLabel = "PID.key=value",
      description =
          "Sets one key of an organ's configuration; may be repeated. \"plan --keys\" lists them.")
  private List<String> settings = new ArrayList<>();

  /**
   * @param keys what the bundles declare
   * @return dictionaries by PID
   * @throws Refusal if no bundle knows an option
   */
  Map<String, Dictionary<String, Object>> configuration(ConfigurationKeys keys) throws Refusal {
    NodeSettings all = new NodeSettings();
    String root = state.toAbsolutePath().normalize().toString();
    all.imply("dev.polis.storage", "root", root, "--state", keys);
    String records = NodeDirectory.of(state).processes().toString();
    all.imply("dev.polis.process", "records", records, "--state", keys);
    all.imply("dev.polis.network", "address", address, "--address", keys);
    all.imply("dev.polis.rpc", "address", address, "--address", keys);
    String listeners = NodeDirectory.of(state).listeners().toString();
    all.imply("dev.polis.rpc", "listeners.file", listeners, "--state", keys);
    all.imply("dev.polis.logtree", "console", log, "--log", keys);
    if (manageNetwork) {
      all.set("dev.polis.network", "manage", "true", "--manage-network");
    }
    if (security != null) {
      all.set("dev.polis.storage", "security", word(security), "--security");
    }
    file(all, "dev.polis.consensus", "etcd", etcd, "--etcd");
    file(all, "dev.polis.cluster", "parameters", parameters, "--parameters");
    if (asksForRecoveryKey()) {
      all.set("dev.polis.cluster", "recovery.key", STANDARD_INPUT.toString(), "--recovery-key");
    } else {
      file(all, "dev.polis.cluster", "recovery.key", recoveryKey, "--recovery-key");
    }
    for (String setting : settings) {
      all.assign(setting, keys);
    }
    return all.resolve(keys);
  }

  /** Returns whether the recovery key comes on standard input. */
  boolean asksForRecoveryKey() {
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
