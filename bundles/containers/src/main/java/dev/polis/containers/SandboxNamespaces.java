package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.base.posix.KernelFiles;
import dev.polis.process.ManagedProcess;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.process.SandboxProcesses;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Makes the sandbox's namespaces or finds them again. A sleeping child process keeps them. If that
 * process was killed while others live inside, a new one enters through one of them.
 */
final class SandboxNamespaces {

  /** The name of the child process. */
  static final String NAME = "sandbox";

  /**
   * The script that enters the namespaces of the process in a file, or makes new ones, and then
   * sleeps. An unmount on the machine also takes effect inside, so that the namespace keeps no disk
   * busy; mounts inside do not reach the machine.
   */
  private static final String SCRIPT =
      """
      if [ -s "$1" ]; then exec nsenter --target "$(cat "$1")" --net --mount sleep infinity; fi
      exec unshare --net --mount --propagation slave sleep infinity
      """;

  private static final String PATH = "/usr/sbin:/usr/bin:/sbin:/bin";

  /**
   * The time for three programs that replace one another, each of which may wait for a processor.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private static final Duration PACE = Duration.ofMillis(5);

  private final ProcessManager processes;
  private final ContainersFiles files;
  private final SandboxSetup setup;
  private final SystemCommands commands = new SystemCommands();

  SandboxNamespaces(ProcessManager processes, ContainersFiles files, Path programs) {
    this.processes = processes;
    this.files = files;
    this.setup = new SandboxSetup(files, programs);
  }

  /** Returns whether there are namespaces to adopt. */
  boolean exist() throws IOException, InterruptedException {
    return processes.lives(NAME) || survivor().isPresent();
  }

  /**
   * Returns the process that keeps the prepared namespaces.
   *
   * @param imageFile whether the runtime's data is in an image file
   */
  ManagedProcess ensure(SandboxRequest request, boolean imageFile)
      throws IOException, InterruptedException {
    boolean found = processes.lives(NAME);
    ManagedProcess holder = enter(request);
    if (!SandboxSetup.isComplete(holder.pid())) {
      if (found) {
        // An earlier run ended during this step, before it started containerd.
        processes.stop(NAME);
        holder = enter(request);
      }
      complete(request, holder, imageFile);
    }
    link(files.networkLink(), holder.pid(), "net");
    link(files.mountLink(), holder.pid(), "mnt");
    return holder;
  }

  private ManagedProcess enter(SandboxRequest request) throws IOException, InterruptedException {
    if (!processes.lives(NAME)) {
      prepareEntry(request);
    }
    ManagedProcess holder = awaitInside(processes.ensure(spec()));
    files.entry().delete();
    String process = Long.toString(holder.pid());
    SandboxRecord.read(files.record())
        .orElse(SandboxRecord.of(request))
        .withNamespaces(
            SandboxProcesses.namespace(process, "mnt"), SandboxProcesses.namespace(process, "net"))
        .write(files.record());
    return holder;
  }

  /**
   * Prepares new namespaces, and removes them after a failure, since half of a sandbox is useless.
   */
  private void complete(SandboxRequest request, ManagedProcess holder, boolean imageFile)
      throws IOException, InterruptedException {
    boolean done = false;
    try {
      addHostAddress(request);
      setup.complete(request, holder.pid(), imageFile);
      done = true;
    } finally {
      if (!done) {
        processes.stop(NAME);
      }
    }
  }

  /**
   * Records the planned parts of the setup, and the process through which it enters an earlier
   * sandbox.
   */
  private void prepareEntry(SandboxRequest request) throws IOException {
    Optional<Long> survivor = survivor();
    if (survivor.isPresent()) {
      files.entry().write(survivor.get().toString().getBytes(StandardCharsets.US_ASCII));
    } else {
      files.entry().delete();
      SandboxRecord fresh = SandboxRecord.of(request);
      Optional<SandboxRecord> before = SandboxRecord.read(files.record());
      String added =
          before.isPresent() && before.get().ofThisBoot() ? before.get().addedAddress() : "";
      fresh.withAddedAddress(added).write(files.record());
    }
  }

  /** Returns a live process in the namespaces of this node's sandbox. */
  private Optional<Long> survivor() throws IOException {
    Optional<SandboxRecord> record = SandboxRecord.read(files.record());
    if (record.isEmpty()
        || !record.get().ofThisBoot()
        || record.get().mountNamespace().isEmpty()
        || record.get().networkNamespace().isEmpty()) {
      return Optional.empty();
    }
    Set<Long> inside = SandboxProcesses.within(List.of(record.get().mountNamespace()));
    inside.retainAll(SandboxProcesses.within(List.of(record.get().networkNamespace())));
    return inside.stream()
        .filter(process -> SandboxProcesses.isOf(process, record.get().cgroup()))
        .findFirst();
  }

  private ProcessSpec spec() {
    SystemCommands.require(List.of("nsenter", "unshare", "sleep"));
    return ProcessSpec.of(
            NAME, SystemCommands.path("sh"), "-c", SCRIPT, NAME, files.entry().path().toString())
        .withEnvironment(Map.of("PATH", PATH));
  }

  private ManagedProcess awaitInside(ManagedProcess holder)
      throws IOException, InterruptedException {
    String outside = SandboxProcesses.namespace("self", "mnt");
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (true) {
      String inside = SandboxProcesses.namespace(Long.toString(holder.pid()), "mnt");
      if (!inside.isEmpty() && !inside.equals(outside) && sleeps(holder.pid())) {
        return holder;
      }
      if (!holder.running() || System.nanoTime() > end) {
        throw new ContainersException(
            "the node could not make the namespaces: %s; run it with CAP_SYS_ADMIN"
                .formatted(Files.readString(holder.log()).strip().replace('\n', ' ')));
      }
      Thread.sleep(PACE);
    }
  }

  /** unshare enters the namespaces one after the other; once it has become sleep, it is inside. */
  private static boolean sleeps(long process) throws IOException {
    return KernelFiles.read(Path.of("/proc", Long.toString(process), "comm"))
        .map(String::strip)
        .filter("sleep"::equals)
        .isPresent();
  }

  /** Gives the host's side its address unless the machine has it; others may have added it. */
  private void addHostAddress(SandboxRequest request) throws IOException, InterruptedException {
    String address = request.hostAddress().getHostAddress();
    String there =
        commands.require("list addresses", List.of("ip", "-oneline", "-4", "address", "show"));
    if (there.contains(" inet " + address + "/")) {
      return;
    }
    SandboxRecord.read(files.record())
        .orElseThrow()
        .withAddedAddress(address)
        .write(files.record());
    commands.require(
        "give this machine the address " + address,
        List.of("ip", "address", "add", address + "/32", "dev", "lo"));
  }

  /**
   * Points a link to a namespace; it replaces the link atomically, so that a target always exists.
   */
  private static void link(Path link, long process, String kind) throws IOException {
    Path target = Path.of("/proc", Long.toString(process), "ns", kind);
    if (Files.isSymbolicLink(link) && Files.readSymbolicLink(link).equals(target)) {
      return;
    }
    Path next = link.resolveSibling(link.getFileName() + ".next");
    Files.deleteIfExists(next);
    Files.createSymbolicLink(next, target);
    Files.move(next, link, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }
}
