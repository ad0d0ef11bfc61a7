package dev.polis.api.containers;

import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Describes the place where containers run. It stays equal over restarts of the runtime, of the
 * organ and of the node's process, so that the node can adopt a process whose command contains it.
 *
 * @param request the request for it
 * @param enter the prefix of a command that runs inside; empty with {@link Isolation#MACHINE}
 * @param hostDevice the network device of the host that leads inside; empty with {@link
 *     Isolation#MACHINE}
 * @param cgroup the cgroup that holds all containers, from the root of each hierarchy, such as
 *     {@code /polis-3f2a}
 * @param path the environment variable PATH for programs inside
 */
public record Sandbox(
    SandboxRequest request, List<String> enter, String hostDevice, Path cgroup, String path) {

  public Sandbox {
    enter = List.copyOf(enter);
  }

  /** Returns the command that runs a program inside; both have the same process id. */
  public List<String> command(List<String> program) {
    return Stream.concat(enter.stream(), program.stream()).toList();
  }

  /** Returns the sandbox's address for outside callers. */
  public InetAddress address() {
    return request.address();
  }
}
