package dev.polis.containers;

import java.net.URI;
import java.nio.file.Path;

/**
 * Writes the configuration of containerd. The same request always gets the same text: the node
 * adopts a running containerd only if it matches.
 *
 * @param programs containerd, runc and the network plugins
 * @param root where images and containers are
 * @param mirrors the folder of the configuration of registries
 * @param networks where the CNI configuration is
 * @param restrictOom whether OOM scores stay within the kernel's limit
 */
record RuntimeConfiguration(
    RuntimePrograms programs, Path root, Path mirrors, Path networks, boolean restrictOom) {

  /** containerd's own directory of sockets and mounts; shims use no other. */
  static final Path STATE = Path.of("/run/containerd");

  /** The socket to which CRI and the tools connect. */
  static final Path SOCKET = STATE.resolve("containerd.sock");

  private static final int NEW_FORM = 2;

  /** Returns the text of containerd's configuration file. */
  String text() {
    return programs.containerd().major() >= NEW_FORM ? third() : second();
  }

  /** containerd 2 reads version 3, and later releases migrate it. */
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

  /** containerd 1.6 and 1.7 read version 2. */
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
    // NRI would listen for plugins, but there are none; opt would make /opt/containerd on the
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
