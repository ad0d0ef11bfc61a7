package dev.polis.kubernetes.address;

import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.FolderPlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import dev.polis.files.Stored;
import dev.polis.process.Commands;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Puts an address on the loopback device while a role of this node claims it. Thread-safe within
 * one process.
 */
public final class HostAddress {

  /**
   * The folder of the claims, which both roles declare in the same way. A claim has the address in
   * its first line and the folder of the programs in its second, so that {@code polis down} can
   * remove the address and the rules of a killed node.
   */
  public static final OrganFolder FOLDER =
      new OrganFolder("kubernetes-address", Mode.PRIVATE_DIRECTORY);

  /**
   * The time for one request to the kernel: a thousand times the usual milliseconds, for a machine
   * under load.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final String DEVICE = "lo";

  /** The lock for claims and releases of two roles in one process. */
  private static final ReentrantLock LOCK = new ReentrantLock();

  private final FolderPlacement folder;
  private final InetAddress address;
  private final Path programs;

  /** The files of the roles, since a role may declare a file only once. Guarded by the lock. */
  private final Map<String, FilePlacement> claims = new HashMap<>();

  /**
   * Creates the address without a change of the device.
   *
   * @param folder the folder that storage made for {@link #FOLDER}
   * @param programs the folder with Kubernetes' programs, and nft
   */
  public HostAddress(FolderPlacement folder, InetAddress address, Path programs) {
    this.folder = folder;
    this.address = address;
    this.programs = programs;
  }

  /**
   * Records that a role needs the address, and adds the address to the device if it is missing. No
   * machine of the local network reaches it there.
   *
   * @return empty if the device has it now, else the reason
   * @throws FileException if this cannot write the claim
   * @throws InterruptedException if interrupted; claim it again
   */
  public Optional<String> claim(String role) throws FileException, InterruptedException {
    LOCK.lockInterruptibly();
    try {
      // The release may come after the programs have moved or disappeared.
      String claim = address.getHostAddress() + "\n" + programs + "\n";
      claimOf(role).write(claim.getBytes(StandardCharsets.UTF_8));
      Optional<String> exposed = new NeighbourFilter(programs, address).hide(PATIENCE);
      boolean there = present();
      if (exposed.isPresent() && !there) {
        // nft makes all rules or none, so a release would find none to remove.
        claimOf(role).delete();
      }
      return exposed.isPresent() || there ? exposed : change("add");
    } finally {
      LOCK.unlock();
    }
  }

  /**
   * Deletes the claim of a role, and removes the address if no other role claims it.
   *
   * @return empty if the address is gone or still needed, else the reason why it remains
   * @throws FileException if the claim cannot be deleted
   * @throws InterruptedException if interrupted; release it again
   */
  public Optional<String> release(String role) throws FileException, InterruptedException {
    LOCK.lockInterruptibly();
    try {
      Optional<Path> used = programsOf(claimOf(role));
      claimOf(role).delete();
      if (!folder.list().isEmpty() || used.isEmpty() && !present()) {
        return Optional.empty();
      }
      Optional<String> stays = present() ? change("delete") : Optional.empty();
      return stays.isPresent()
          ? stays
          : new NeighbourFilter(used.orElse(programs), address).remove(PATIENCE);
    } finally {
      LOCK.unlock();
    }
  }

  /** Returns the folder of the programs at the time of a claim; empty without a claim. */
  private Optional<Path> programsOf(FilePlacement claim) {
    return switch (claim.read()) {
      case Stored.Present<byte[]> noted -> Optional.of(programsOf(noted.value()));
      case Stored.None<byte[]> _ -> Optional.empty();
      case Stored.Corrupted<byte[]> _, Stored.Unreadable<byte[]> _ -> Optional.of(programs);
    };
  }

  /**
   * Returns the folder of the programs in a claim; a claim of an earlier build has only the
   * address.
   */
  private Path programsOf(byte[] noted) {
    return new String(noted, StandardCharsets.UTF_8)
        .lines()
        .skip(1)
        .findFirst()
        .map(Path::of)
        .orElse(programs);
  }

  private FilePlacement claimOf(String role) {
    return claims.computeIfAbsent(role, name -> folder.declareFile(name, Mode.PUBLIC));
  }

  private boolean present() {
    try {
      return NetworkInterface.getByInetAddress(address) != null;
    } catch (IOException unreadable) {
      // The next command then reports the error.
      return false;
    }
  }

  private Optional<String> change(String how) throws InterruptedException {
    List<String> command =
        List.of("ip", "address", how, address.getHostAddress() + "/32", "dev", DEVICE);
    try {
      Commands.Result result = new Commands().run(PATIENCE, command);
      return result.ok()
          ? Optional.empty()
          : Optional.of("\"%s\" failed: %s".formatted(String.join(" ", command), result.words()));
    } catch (IOException e) {
      return Optional.of(
          "the node cannot run \"%s\": %s".formatted(String.join(" ", command), e.getMessage()));
    }
  }
}
