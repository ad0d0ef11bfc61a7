package dev.polis.storage;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Needs;
import dev.polis.logtree.LogTree;
import dev.polis.process.Commands;
import dev.polis.process.ProcessManager;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Makes a state directory with all parts of a volume, wired as the component does, without a
 * framework.
 */
final class VolumeBench implements AutoCloseable {

  // The smallest possible XFS has 300 MiB; the image is sparse.
  static final long SIZE = 320L << 20;

  final Root root;
  final ProcessManager.OpenManager processes;
  final SealedConfigurationFile sealed;
  final Volume volume;
  final VolumeManager manager;
  private final VolumeCatalog catalog;

  VolumeBench(Path directory, StorageSecurity security) throws FileException {
    root = Root.at(directory);
    root.esp().create();
    root.ephemeral().create();
    processes = ProcessManager.open(root.ephemeral().processes().create(), LogTree.create());
    catalog =
        VolumeCatalog.of(
            root,
            SIZE,
            Optional.empty(),
            new VolumeTools(new Commands(), VolumeTools.isRoot()),
            new VolumeDaemonsManaged(processes));
    sealed =
        new SealedConfigurationFile(
            root.esp().sealedConfiguration(),
            root.esp().recoveryConfiguration(),
            new RecoveryShareFile(root.esp().recoveryShare()),
            new SealerNone(),
            () -> {});
    manager = new VolumeManager(root, catalog, sealed);
    volume =
        catalog.of(security).stream()
            .filter(v -> !(v instanceof VolumeLuksMapper))
            .findFirst()
            .orElseThrow();
  }

  /**
   * Skips the test if this kernel or user cannot have such a volume. A missing program is a failure
   * for root, for whom {@code polis test} installs it.
   */
  static void assumePossible(StorageSecurity security) {
    if (security == StorageSecurity.INSECURE) {
      return;
    }
    String purpose = "mounting an " + security + " volume";
    if (security == StorageSecurity.ENCRYPTED) {
      Needs.root(purpose);
      Needs.device(purpose, Path.of("/dev/loop-control"));
    }
    Needs.device(purpose, Path.of("/dev/fuse"));
    if (!Needs.isRoot()) {
      for (String program : List.of("gocryptfs", "fusermount3")) {
        assumeTrue(
            new Commands().has(program),
            purpose + " needs the program " + program + ", which is missing");
      }
    }
  }

  /** Returns whether this machine and user can have such a volume. */
  boolean canGive(StorageSecurity security) {
    try {
      return catalog.usable(security).security() == security;
    } catch (StorageException e) {
      return false; // a refusal is the answer
    }
  }

  /** Kills the server of a volume, as a crash would. */
  void kill(String daemon) throws Exception {
    long pid =
        processes.records().stream()
            .filter(r -> r.name().equals(daemon))
            .findFirst()
            .orElseThrow()
            .pid();
    ProcessHandle handle = ProcessHandle.of(pid).orElseThrow();
    handle.destroyForcibly();
    Await.until("the end of " + daemon, () -> !new VolumeDaemonsManaged(processes).running(daemon));
  }

  @Override
  public void close() {
    processes.close();
  }
}
