package dev.polis.cluster;

import dev.polis.base.config.SettingCheck;
import dev.polis.cluster.NodeParameterSource.Form;
import dev.polis.files.layout.Root;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Holds the checked configuration of the cluster organ.
 *
 * @param parametersOrNull the first file with node parameters; null for none
 * @param firmware the file of QEMU's firmware configuration with node parameters
 * @param recoveryKey the place of the owner's recovery key
 * @param readyWithin the time for consensus to become ready
 */
record ClusterSettings(
    Path parametersOrNull, Path firmware, RecoveryKeySource recoveryKey, Duration readyWithin) {

  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.cluster");

  // A member that is not ready after a day never becomes ready.
  private static final Duration LONGEST = Duration.ofDays(1);

  /**
   * Checks a configuration.
   *
   * @throws dev.polis.base.config.SettingException if a value cannot be used
   */
  static ClusterSettings of(ClusterConfig config) {
    return new ClusterSettings(
        config.parameters().isEmpty() ? null : path("parameters", config.parameters()),
        path("fw.cfg", CHECK.present("fw.cfg", config.fw_cfg())),
        recoveryKey(config.recovery_key()),
        CHECK.seconds("consensus.ready", config.consensus_ready(), Duration.ofSeconds(1), LONGEST));
  }

  private static RecoveryKeySource recoveryKey(String configured) {
    return switch (configured) {
      case "" -> new RecoveryKeySource.None();
      case "-" -> new RecoveryKeySource.StandardInput(System.in);
      default -> new RecoveryKeySource.File(path("recovery.key", configured));
    };
  }

  private static Path path(String key, String configured) {
    try {
      return Path.of(configured);
    } catch (InvalidPathException e) {
      throw CHECK.refuse(key, configured, "which is not a path: " + e.getReason());
    }
  }

  /** Returns the places of node parameters, the most important first. */
  List<NodeParameterSource> sources(Root.Esp esp) {
    List<NodeParameterSource> sources = new ArrayList<>();
    if (parametersOrNull != null) {
      sources.add(
          new NodeParameterSource(
              "command line", parametersOrNull, Form.of(parametersOrNull), true));
    }
    sources.add(new NodeParameterSource("fw_cfg", firmware, Form.BINARY, false));
    sources.add(new NodeParameterSource("ESP", esp.parameters().path(), Form.BINARY, false));
    sources.add(
        new NodeParameterSource("ESP, JSON", esp.parametersJson().path(), Form.JSON, false));
    return List.copyOf(sources);
  }
}
