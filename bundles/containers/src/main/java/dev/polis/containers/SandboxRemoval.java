package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.Isolation;
import dev.polis.base.posix.Mounts;
import dev.polis.base.posix.PosixException;
import dev.polis.files.FileTree;
import dev.polis.logtree.Log;
import dev.polis.process.ProcessManager;
import dev.polis.process.SandboxProcesses;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Ends containers, the runtime and the sandbox in that order, and removes their parts. It follows
 * the record, so it also removes the parts of an earlier instance, and is repeatable.
 */
final class SandboxRemoval {

  /**
   * The time for containers that the kubelet did not reach; the kubelet has stopped the others
   * before.
   */
  private static final Duration GRACE = Duration.ofSeconds(2);

  /** The time for killed processes, which end in milliseconds unless the kernel blocks them. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private static final Duration PACE = Duration.ofMillis(20);

  private final ProcessManager processes;
  private final ContainersFiles files;
  private final String programs;
  private final Log log;
  private final SystemCommands commands = new SystemCommands();

  /**
   * @param programs the folder of the programs; blank for none
   */
  SandboxRemoval(ProcessManager processes, ContainersFiles files, String programs, Log log) {
    this.processes = processes;
    this.files = files;
    this.programs = programs;
    this.log = log;
  }

  /**
   * Removes all parts of the sandbox; does nothing if there is none.
   *
   * @throws ContainersException naming the part that it cannot end
   */
  void remove() throws InterruptedException {
    try {
      Optional<SandboxRecord> record = SandboxRecord.read(files.record());
      if (record.isPresent() && record.get().ofThisBoot()) {
        remove(record.get());
      } else {
        processes.stop(RuntimeProcess.NAME);
        processes.stop(SandboxNamespaces.NAME);
      }
      Files.deleteIfExists(files.networkLink());
      Files.deleteIfExists(files.mountLink());
      files.entry().delete();
      files.record().delete();
    } catch (IOException e) {
      throw new ContainersException("the node cannot remove the sandbox: " + e.getMessage(), e);
    }
  }

  private void remove(SandboxRecord record) throws IOException, InterruptedException {
    Cgroups cgroups = Cgroups.find();
    SandboxProcesses.end(() -> cgroups.processes(record.cgroup()), GRACE, PATIENCE);
    processes.stop(RuntimeProcess.NAME);
    killAll(() -> beside(record, cgroups), "containers");
    processes.stop(SandboxNamespaces.NAME);
    killAll(record::inside, "the sandbox");
    if (record.isolation() == Isolation.MACHINE) {
      unmount();
    } else {
      removeDevice(record.hostDevice());
      removeAddress(record.addedAddress());
    }
    cgroups.remove(record.cgroup());
    log.info("containers, containerd and the sandbox %s are gone", record.cgroup());
  }

  /** Returns the processes of containers and their shims. */
  private Set<Long> beside(SandboxRecord record, Cgroups cgroups) throws IOException {
    Set<Long> found = new TreeSet<>(cgroups.processes(record.cgroup()));
    if (record.isolation() == Isolation.NAMESPACES) {
      found.addAll(record.inside());
    } else if (!programs.isBlank()) {
      Path shim = Path.of(programs).toAbsolutePath().resolve("bin/containerd-shim-runc-v2");
      found.addAll(SandboxProcesses.running(shim));
    }
    // The process that keeps the namespaces ends last.
    processes.records().stream()
        .filter(each -> each.name().equals(SandboxNamespaces.NAME) && each.alive())
        .forEach(each -> found.remove(each.pid()));
    return found;
  }

  private static void killAll(SandboxProcesses.Listing listing, String whose)
      throws IOException, InterruptedException {
    if (!SandboxProcesses.end(listing, Duration.ZERO, PATIENCE)) {
      throw new ContainersException(
          "processes %s of %s still exist %d s after SIGKILL: the kernel blocks them; check their disk or mount"
              .formatted(listing.list(), whose, PATIENCE.toSeconds()));
    }
  }

  /** Removes a device, whose pair the kernel removes a moment after the namespace. */
  private void removeDevice(String device) throws InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    SandboxSetup.removeDevice(commands, device);
    while (commands.run(List.of("ip", "link", "show", "dev", device)).ok()) {
      if (System.nanoTime() > end) {
        throw new ContainersException(
            "the node cannot remove network device %s; remove it with: ip link delete %s"
                .formatted(device, device));
      }
      Thread.sleep(PACE);
    }
  }

  private void removeAddress(String address) throws InterruptedException {
    if (!address.isEmpty()) {
      commands.run(List.of("ip", "address", "delete", address + "/32", "dev", "lo"));
    }
  }

  /** Unmounts the mounts of containers and the runtime, the last first. */
  private void unmount() throws IOException {
    List<Path> points = new ArrayList<>();
    // Other folders of the image have the same device.
    String device = Mounts.at(files.runtime().path()).map(Mounts.Mount::source).orElse("");
    for (Mounts.Mount mount : Mounts.list()) {
      if (mount.point().startsWith(RuntimeConfiguration.STATE)
          || mount.point().startsWith(files.runtime().path())
          || mount.source().equals(device)) {
        points.addFirst(mount.point());
      }
    }
    for (Path point : points) {
      try {
        Mounts.unmount(point);
      } catch (PosixException busy) {
        throw new ContainersException(
            "the node cannot unmount %s: %s".formatted(point, busy.getMessage()), busy);
      }
    }
    FileTree.delete(RuntimeConfiguration.STATE);
  }
}
