package dev.polis.debug;

import dev.polis.base.config.SettingCheck;
import java.nio.file.Path;

/**
 * Holds the settings of the organ.
 *
 * @param enabled whether the organ serves the debug services
 * @param kubeconfig whether it gives out credentials of Kubernetes
 * @param images whether strangers load container images
 * @param readers how many callers may read the log at the same time
 * @param shell whether there is a shell, and where
 */
record DebugSettings(
    boolean enabled, boolean kubeconfig, boolean images, int readers, Shell shell) {
  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.debug");

  /** Each reader that does not read costs some 300 KiB; a thousand would fill the heap. */
  private static final int MOST_READERS = 256;

  /** Holds whether there is a shell. */
  sealed interface Shell {
    /** There is none. */
    record Off() implements Shell {}

    /**
     * There is one.
     *
     * @param folder for its socket
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
