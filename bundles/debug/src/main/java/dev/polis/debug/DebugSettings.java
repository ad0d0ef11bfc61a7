package dev.polis.debug;

import dev.polis.config.SettingCheck;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The settings of the organ.
 *
 * @param enabled whether the debug services are served at all
 * @param shell the folder for the socket of the shell; empty if there is no shell
 */
record DebugSettings(boolean enabled, Optional<Path> shell) {
  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.debug");

  static DebugSettings of(DebugConfig config) {
    return new DebugSettings(
        config.enabled(),
        config.shell()
            ? Optional.of(Path.of(CHECK.present("shell.folder", config.shell_folder())))
            : Optional.empty());
  }
}
