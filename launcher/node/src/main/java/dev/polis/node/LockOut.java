package dev.polis.node;

import dev.polis.base.posix.Mounts.Mount;
import dev.polis.node.cleanup.StateMounts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Finds out whether a power-off would lock the owner out: the data volume is mounted and encrypted,
 * and no key opens it after an unmount.
 */
final class LockOut {

  private LockOut() {}

  /**
   * Looks at the mounts and the files of a node, which need not run.
   *
   * @return why the owner would be locked out, and what to do first; empty if the volume can be
   *     opened again, or is not mounted
   * @throws IOException if the mounts can not be read
   */
  static Optional<String> of(NodeDirectory directory) throws IOException {
    return of(directory, StateMounts.mounted(directory.root()));
  }

  static Optional<String> of(NodeDirectory directory, List<Mount> mounts) throws IOException {
    boolean mounted =
        mounts.stream().anyMatch(mount -> mount.point().equals(directory.layout().data().path()));
    // Until the enrolment is done, the journal holds the key.
    if (!mounted
        || Files.exists(directory.layout().esp().enrolmentJournal().path())
        || hasShare(directory)) {
      return Optional.empty();
    }
    return Optional.of(
        "no recovery key opens the encrypted data volume in %s: once it is unmounted, nothing does; make one first: ./polis ctl --state %s recovery-key enroll --to FILE"
            .formatted(directory.root(), directory.root()));
  }

  private static boolean hasShare(NodeDirectory directory) throws IOException {
    Path share = directory.layout().esp().recoveryShare().path();
    return Files.exists(share) && Files.size(share) > 0;
  }
}
