package dev.polis.node;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Dictionary;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Option;

/**
 * What is said of a node on the command line. Where an option of an organ has no counterpart in its
 * configuration, the option is refused.
 */
final class NodeOptions {
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
      names = "--etcd",
      paramLabel = "DIR",
      description = "Folder that holds etcd; default: looked up in PATH.")
  private Optional<Path> etcd = Optional.empty();

  @Option(
      names = "--security",
      paramLabel = "MODE",
      description = "Security of a new data volume: insecure, encrypted, authenticated-encrypted.")
  private Optional<String> security = Optional.empty();

  @Option(
      names = "--parameters",
      paramLabel = "FILE",
      description = "Node parameters; FILE.json is JSON, all else binary.")
  private Optional<Path> parameters = Optional.empty();

  @Option(
      names = "--recovery-key",
      paramLabel = "FILE",
      description = "The owner's recovery key, for an encrypted node that no other can help.")
  private Optional<Path> recoveryKey = Optional.empty();

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
   * @throws Refusal if an option finds nobody who understands it
   */
  Map<String, Dictionary<String, Object>> configuration(ConfigurationKeys keys) throws Refusal {
    NodeSettings all = new NodeSettings();
    String root = state.toAbsolutePath().normalize().toString();
    all.imply("dev.polis.storage", "root", root, "--state", keys);
    String records = NodeDirectory.of(state).processes().toString();
    all.imply("dev.polis.process", "records", records, "--state", keys);
    all.imply("dev.polis.network", "address", address, "--address", keys);
    all.imply("dev.polis.rpc", "address", address, "--address", keys);
    all.imply("dev.polis.logtree", "console", log, "--log", keys);
    security.ifPresent(mode -> all.set("dev.polis.storage", "security", word(mode), "--security"));
    etcd.ifPresent(folder -> all.set("dev.polis.consensus", "etcd", absolute(folder), "--etcd"));
    parameters.ifPresent(
        file -> all.set("dev.polis.cluster", "parameters", absolute(file), "--parameters"));
    recoveryKey.ifPresent(
        file -> all.set("dev.polis.cluster", "recovery.key", absolute(file), "--recovery-key"));
    for (String setting : settings) {
      all.assign(setting, keys);
    }
    return all.resolve(keys);
  }

  private static String word(String mode) {
    return mode.toUpperCase(Locale.ROOT).replace('-', '_');
  }

  private static String absolute(Path path) {
    return path.toAbsolutePath().normalize().toString();
  }
}
