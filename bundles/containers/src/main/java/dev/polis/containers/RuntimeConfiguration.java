package dev.polis.containers;

import java.net.URI;
import java.nio.file.Path;

/**
 * Writes the configuration of containerd. The same request always has the same text, since the node
 * adopts a running containerd only with the same text.
 *
 * @param programs containerd, runc and the network plugins
 * @param root the folder of images and containers
 * @param mirrors the folder of the configuration of registries
 * @param networks the folder of the CNI configuration
 * @param restrictOom true to keep OOM scores within the kernel's limit
 */
record RuntimeConfiguration(
    RuntimePrograms programs, Path root, Path mirrors, Path networks, boolean restrictOom) {

  /** containerd's own directory of sockets and mounts, the only one that shims use. */
  static final Path STATE = Path.of("/run/containerd");

  /** The socket for CRI and the tools. */
  static final Path SOCKET = STATE.resolve("containerd.sock");

  private static final int NEW_FORM = 2;

  /** Returns the text of containerd's configuration file. */
  String text() {
    return programs.containerd().major() >= NEW_FORM ? third() : second();
  }

  /**
   * Returns version 3 of the configuration, which containerd 2 reads and later releases migrate.
   */
  private String third() {
    return """
    version = 3
    %s
    [plugins.'io.containerd.cri.v1.images']
      snapshotter = "overlayfs"
      [plugins.'io.containerd.cri.v1.images'.pinned_images]
        sandbox = %s
      [plugins.'io.containerd.cri.v1.images'.registry]
        config_path = %s
    [plugins.'io.containerd.cri.v1.runtime']
      restrict_oom_score_adj = %s
      [plugins.'io.containerd.cri.v1.runtime'.cni]
        bin_dirs = [%s]
        conf_dir = %s
      [plugins.'io.containerd.cri.v1.runtime'.containerd]
        default_runtime_name = "runc"
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
        runtime_type = "io.containerd.runc.v2"
        [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
          BinaryName = %s
          SystemdCgroup = false
    """
        .formatted(
            common(),
            quoted(PauseImage.NAME),
            quoted(mirrors),
            restrictOom,
            quoted(programs.networkPlugins()),
            quoted(networks),
            quoted(programs.program("runc")));
  }

  /** Returns version 2 of the configuration, which containerd 1.6 and 1.7 read. */
  private String second() {
    return """
    version = 2
    %s
    [plugins."io.containerd.grpc.v1.cri"]
      sandbox_image = %s
      restrict_oom_score_adj = %s
      [plugins."io.containerd.grpc.v1.cri".registry]
        config_path = %s
      [plugins."io.containerd.grpc.v1.cri".cni]
        bin_dir = %s
        conf_dir = %s
      [plugins."io.containerd.grpc.v1.cri".containerd]
        snapshotter = "overlayfs"
        default_runtime_name = "runc"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
        runtime_type = "io.containerd.runc.v2"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
          BinaryName = %s
          SystemdCgroup = false
    """
        .formatted(
            common(),
            quoted(PauseImage.NAME),
            restrictOom,
            quoted(mirrors),
            quoted(programs.networkPlugins()),
            quoted(networks),
            quoted(programs.program("runc")));
  }

  private String common() {
    // NRI would wait for plugins, of which there are none; opt would create /opt/containerd on the
    // machine.
    return """
    root = %s
    state = %s
    disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt"]
    [grpc]
      address = %s
    """
        .formatted(quoted(root), quoted(STATE), quoted(SOCKET))
        .stripTrailing();
  }

  /** Returns containerd's configuration of a registry with a mirror: {@code hosts.toml}. */
  static String mirror(URI mirror) {
    return """
    [host.%s]
      capabilities = ["pull", "resolve"]
    """
        .formatted(quoted(mirror));
  }

  private static String quoted(Object value) {
    return '"' + value.toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}
