package dev.polis.api.containers;

import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;

/**
 * Describes the sandbox that is wanted.
 *
 * @param isolation how far it is kept apart from the machine
 * @param name 1 to 8 lower-case letters and digits, unlike those of other nodes of this machine;
 *     part of the names of network devices and cgroups
 * @param hostAddress at which the node is reached from inside; with {@link Isolation#MACHINE} the
 *     node's own
 * @param address of the sandbox itself, at which it is reached from outside; with {@link
 *     Isolation#MACHINE} the node's own
 * @param networkFolder where the runtime finds its CNI configuration; the caller writes it there
 * @param ranges of addresses that containers will use, such as {@code 10.244.0.0/16}; a start is
 *     refused if the machine has routes to them already
 * @param folders of the data volume that need a file system of the kernel, such as the kubelet's,
 *     which asks for its device; where the volume's is one of user space, they show others inside
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

  /** Refuses a name that no network device could have. */
  public SandboxRequest {
    if (!name.matches(NAME)) {
      throw new IllegalArgumentException(
          "sandbox name \"%s\" does not match %s".formatted(name, NAME));
    }
    ranges = List.copyOf(ranges);
    folders = List.copyOf(folders);
  }

  /** Describes a sandbox whose addresses are not checked beforehand. */
  public SandboxRequest(
      Isolation isolation,
      String name,
      InetAddress hostAddress,
      InetAddress address,
      Path networkFolder) {
    this(isolation, name, hostAddress, address, networkFolder, List.of(), List.of());
  }

  /** Returns whether both describe the same sandbox, whatever addresses are looked at before. */
  public boolean sameSandbox(SandboxRequest other) {
    return isolation == other.isolation
        && name.equals(other.name)
        && hostAddress.equals(other.hostAddress)
        && address.equals(other.address)
        && networkFolder.equals(other.networkFolder);
  }
}
