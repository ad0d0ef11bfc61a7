package dev.polis.debug;

import dev.polis.base.config.SettingCheck;
import java.nio.file.Path;

/**
 * Holds the settings of the organ.
 *
 * @param enabled true if the organ serves the debug services
 * @param kubeconfig true if it issues credentials of Kubernetes
 * @param images true if strangers may load container images
 * @param readers the number of callers that may read the log at the same time
 * @param shell the shell, if it is allowed
 */
record DebugSettings(
    boolean enabled, boolean kubeconfig, boolean images, int readers, Shell shell) {
  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.debug");

  /**
   * The largest number of readers: an idle reader costs some 300 KiB, and a thousand would fill the
   * heap.
   */
  private static final int MOST_READERS = 256;

  /** Describes whether there is a shell. */
  sealed interface Shell {
    /** Means that there is no shell. */
    record Off() implements Shell {}

    /**
     * Means that there is a shell.
     *
     * @param folder the folder of its socket
     */
    record On(Path folder) implements Shell {}
  }

  static DebugSettings of(DebugConfig config) {
    return new DebugSettings(
        config.enabled(),
        config.kubeconfig(),
        config.images(),
        CHECK.range("readers", config.readers(), 1, MOST_READERS),
        config.shell()
            ? new Shell.On(Path.of(CHECK.present("shell.folder", config.shell_folder())))
            : new Shell.Off());
  }
}
