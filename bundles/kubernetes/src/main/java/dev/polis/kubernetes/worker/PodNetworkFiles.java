package dev.polis.kubernetes.worker;

import dev.polis.files.FileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Writes the CNI configuration with which the runtime connects Pods: a bridge and host ports. */
final class PodNetworkFiles {

  /** The bridge that connects all Pods of a node. */
  static final String BRIDGE = "cni0";

  private static final String FILE = "10-polis.conflist";
  private static final String BACKEND = "nftables";

  private PodNetworkFiles() {}

  /**
   * Writes the configuration, which the runtime notices.
   *
   * @param range the node's own part of the Pods' addresses
   * @return false if it was unchanged
   */
  static boolean write(Path folder, String range) throws FileException {
    return WorkerFiles.writeAside(folder.resolve(FILE), text(range));
  }

  static String text(String range) {
    return JsonText.text(
        Map.of(
            "cniVersion", "1.0.0", "name", "polis", "plugins", List.of(bridge(range), portmap())));
  }

  private static Map<String, ?> bridge(String range) {
    return Map.of(
        "type",
        "bridge",
        "bridge",
        BRIDGE,
        "isGateway",
        true,
        "ipMasq",
        true,
        "ipMasqBackend",
        BACKEND,
        "hairpinMode",
        true,
        "ipam",
        Map.of(
            "type", "host-local",
            "ranges", List.of(List.of(Map.of("subnet", range))),
            "routes", List.of(Map.of("dst", "0.0.0.0/0"))));
  }

  private static Map<String, ?> portmap() {
    return Map.of(
        "type", "portmap", "capabilities", Map.of("portMappings", true), "backend", BACKEND);
  }
}
