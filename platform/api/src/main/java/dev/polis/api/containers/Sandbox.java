package dev.polis.api.containers;

import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Describes the place where containers run. It is equal over restarts of the runtime, of the organ
 * and of the node's process, so that a process whose command holds it is adopted.
 *
 * @param request what was asked for
 * @param enter the command that runs another one inside, without its arguments' last part; empty
 *     with {@link Isolation#MACHINE}
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

  /** Returns the command that runs a program inside; its process id is the program's. */
  public List<String> command(List<String> program) {
    return Stream.concat(enter.stream(), program.stream()).toList();
  }

  /** Returns the address of the sandbox, at which it is reached from outside. */
  public InetAddress address() {
    return request.address();
  }
}
