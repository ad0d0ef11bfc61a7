package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.process.Child;
import dev.polis.process.ManagedProcess;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;

/**
 * Runs the runtime once: finds its programs, checks the machine, makes the sandbox or finds it
 * again, starts or adopts containerd, and watches both until one ends. Each run starts at the first
 * step and finds the results of earlier runs, so a run may end at any point.
 */
final class ContainersRun implements Task {

  /**
   * The interval of checks of containerd's answers and of the sandbox; the end of containerd is an
   * event.
   */
  private static final Duration PACE = Duration.ofSeconds(1);

  private final ContainersParts parts;
  private final SandboxRequest request;
  private final ContainersState state;

  ContainersRun(ContainersParts parts, SandboxRequest request, ContainersState state) {
    this.parts = parts;
    this.request = request;
    this.state = state;
  }

  @Override
  public void run(Context context) throws Exception {
    try {
      start(context);
    } catch (InterruptedException | CancellationException cancelled) {
      state.endRun();
      throw cancelled;
    } catch (Exception failure) {
      String reason = failure.getMessage() == null ? failure.toString() : failure.getMessage();
      boolean served = state.endRun();
      if (!context.cancelled()) {
        state.publish(
            served
                ? new ContainersStatus.Starting("containerd to come back: " + reason)
                : new ContainersStatus.Failed(reason));
      }
      throw failure;
    }
  }

  private void start(Context context) throws Exception {
    state.starting("its programs");
    MachineCheck.requireRoot();
    RuntimePrograms programs = RuntimePrograms.find(parts.settings().programs());
    parts.files().create();
    Sandbox sandbox = SandboxPlan.of(request, parts.files(), programs.folder());
    RuntimeDisk disk = new RuntimeDisk(parts.settings(), parts.files());
    Optional<ManagedProcess> holder = sandbox(programs, disk);
    Cgroups.find().make(SandboxRecord.cgroup(request));
    state.starting("containerd to answer");
    ContainersStatus.Running running =
        new ContainersStatus.Running(
            sandbox, RuntimeConfiguration.SOCKET, "containerd " + programs.containerd());
    try (Child containerd = containerd(programs, holder, running)) {
      context.log().info("containerd %s %s", programs.containerd(), containerd.text());
      context.run("log", log -> containerd.deliverLog(log, parts.logName()));
      containerd.awaitReady(parts.settings().ready());
      ImageStore images = ContainersParts.images(parts, sandbox, programs);
      if (!containerd.process().adopted()) {
        requireCri(images, containerd.process());
      }
      images.ensurePause(programs.program("busybox"), parts.files().path());
      context.healthy();
      state.serve(running);
      stay(containerd, holder);
    }
  }

  private void requireCri(ImageStore images, ManagedProcess containerd)
      throws InterruptedException, IOException {
    try {
      images.requireCri();
    } catch (ContainersException missing) {
      String log =
          Files.readString(containerd.log(), StandardCharsets.ISO_8859_1)
              .substring((int) containerd.logStart());
      throw new ContainersException(
          missing.getMessage()
              + RuntimeProcess.firstFailure(log)
                  .map(
                      failure ->
                          ": %s. If its files are damaged: remove the role KubernetesWorker, move %s aside, add the role, and load the images again"
                              .formatted(failure, parts.files().runtime().path()))
                  .orElse("; the log of root.containers.containerd says why"),
          missing);
    }
  }

  /** Returns the process that keeps the sandbox; empty if containers run on the machine itself. */
  private Optional<ManagedProcess> sandbox(RuntimePrograms programs, RuntimeDisk disk)
      throws IOException, InterruptedException {
    SandboxNamespaces namespaces =
        new SandboxNamespaces(parts.processes(), parts.files(), programs.folder());
    boolean isolated = request.isolation() == Isolation.NAMESPACES;
    boolean there = isolated ? namespaces.exist() : parts.processes().lives(RuntimeProcess.NAME);
    if (!there) {
      parts.files().removeArchives();
      state.starting("the check of this machine");
      disk.prepare(new MachineCheck(parts.settings(), parts.files(), programs).check(request));
    }
    state.starting("the sandbox");
    if (isolated) {
      return Optional.of(namespaces.ensure(request, disk.imageFile()));
    }
    SandboxRecord.of(request).write(parts.files().record());
    disk.mountOnMachine(request.folders());
    return Optional.empty();
  }

  private Child containerd(
      RuntimePrograms programs, Optional<ManagedProcess> holder, ContainersStatus.Running running)
      throws IOException, InterruptedException {
    String configuration =
        new RuntimeConfiguration(
                programs,
                parts.files().runtime().path(),
                parts.files().mirrors().path(),
                request.networkFolder(),
                OomScores.restricted(parts.settings().restrictOom()))
            .text();
    parts.files().configuration().write(configuration.getBytes(StandardCharsets.UTF_8));
    RegistryMirrors.write(parts.settings().mirrors(), parts.files().mirrors());
    List<String> command =
        List.of(
            programs.program("containerd").toString(),
            "--config",
            parts.files().configuration().path().toString());
    Path root =
        holder.map(process -> Path.of("/proc", "" + process.pid(), "root")).orElse(Path.of("/"));
    return RuntimeProcess.start(
        parts.processes(), command, root, programs.digest() + "\n" + configuration, state, running);
  }

  /** Waits until containerd or the keeper of the namespaces ends. */
  private static void stay(Child containerd, Optional<ManagedProcess> holder)
      throws IOException, InterruptedException {
    while (!containerd.hasEnded(PACE)) {
      if (holder.filter(process -> !process.running()).isPresent()) {
        throw new ContainersException(
            "the process that keeps the sandbox has ended: %s; the node starts another one"
                .formatted(holder.get().status().peek().orElseThrow().text()));
      }
      containerd.requireAnswer();
    }
    throw containerd.ended();
  }
}
