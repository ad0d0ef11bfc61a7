package dev.polis.containers;

import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.api.containers.SandboxRequest;
import java.nio.file.Path;
import java.util.List;

/**
 * Determines the command that enters a sandbox, which stays equal over restarts, since it uses
 * links.
 */
final class SandboxPlan {

  private static final String SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin";

  private SandboxPlan() {}

  static Sandbox of(SandboxRequest request, ContainersFiles files, Path programs) {
    boolean namespaces = request.isolation() == Isolation.NAMESPACES;
    return new Sandbox(
        request,
        namespaces ? enter(files) : List.of(),
        namespaces ? SandboxRecord.hostDevice(request) : "",
        Path.of("/", SandboxRecord.cgroup(request)),
        programs.resolve("bin") + ":" + SYSTEM_PATH);
  }

  private static List<String> enter(ContainersFiles files) {
    return List.of(
        SystemCommands.path("nsenter"),
        "--net=" + files.networkLink(),
        "--mount=" + files.mountLink());
  }
}
