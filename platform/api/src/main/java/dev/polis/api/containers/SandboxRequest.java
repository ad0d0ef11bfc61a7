package dev.polis.api.containers;

import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;

/**
 * Describes the wanted sandbox.
 *
 * @param isolation its separation from the machine
 * @param name 1 to 8 lower-case letters and digits, unlike those of other nodes of this machine;
 *     part of the names of network devices and cgroups
 * @param hostAddress the node's address for callers inside; with {@link Isolation#MACHINE} the
 *     node's own
 * @param address the sandbox's address for outside callers; with {@link Isolation#MACHINE} the
 *     node's own
 * @param networkFolder the folder of the CNI configuration, which the caller writes
 * @param ranges the address ranges that containers will use, such as {@code 10.244.0.0/16}; a start
 *     is refused if the machine has routes to them already
 * @param folders the folders of the data volume that need a kernel file system, such as the
 *     kubelet's, which asks for its device; if the volume has a user-space file system, other
 *     folders take their place inside
 */
public record SandboxRequest(
    Isolation isolation,
    String name,
    InetAddress hostAddress,
    InetAddress address,
    Path networkFolder,
    List<String> ranges,
    List<Path> folders) {

  private static final String NAME = "[a-z0-9]{1,8}";

  /** Refuses a name that is invalid for a network device. */
  public SandboxRequest {
    if (!name.matches(NAME)) {
      throw new IllegalArgumentException(
          "sandbox name \"%s\" does not match %s".formatted(name, NAME));
    }
    ranges = List.copyOf(ranges);
    folders = List.copyOf(folders);
  }

  /** Describes a sandbox without a check of its address ranges. */
  public SandboxRequest(
      Isolation isolation,
      String name,
      InetAddress hostAddress,
      InetAddress address,
      Path networkFolder) {
    this(isolation, name, hostAddress, address, networkFolder, List.of(), List.of());
  }

  /** Returns whether both describe the same sandbox, apart from the checked address ranges. */
  public boolean sameSandbox(SandboxRequest other) {
    return isolation == other.isolation
        && name.equals(other.name)
        && hostAddress.equals(other.hostAddress)
        && address.equals(other.address)
        && networkFolder.equals(other.networkFolder);
  }
}
