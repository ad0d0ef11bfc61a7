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
   * The folder of the claims; both roles declare it alike. A claim has the address in its first
   * line and the folder of the programs in its second: {@code polis down} removes the address and
   * the rules of a killed node.
   */
  public static final OrganFolder FOLDER =
      new OrganFolder("kubernetes-address", Mode.PRIVATE_DIRECTORY);

  /**
   * One request to the kernel takes milliseconds; this allows a machine under load a thousand times
   * that.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final String DEVICE = "lo";

  /** Two roles of one process claim and release one after the other. */
  private static final ReentrantLock LOCK = new ReentrantLock();

  private final FolderPlacement folder;
  private final InetAddress address;
  private final Path programs;

  /** The files of the roles, since a role may declare a file only once. Guarded by the lock. */
  private final Map<String, FilePlacement> claims = new HashMap<>();

  /**
   * Names the address; changes nothing yet.
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
   * Records that a role needs the address, and puts it on the device unless the device has it; no
   * machine of the local network reaches it there.
   *
   * @return empty if the device has it now, else the reason
   * @throws FileException if this cannot write the claim
   * @throws InterruptedException if interrupted; claim it again
   */
  public Optional<String> claim(String role) throws FileException, InterruptedException {
    LOCK.lockInterruptibly();
    try {
      // The programs may have moved, or be gone, when the address goes.
      String claim = address.getHostAddress() + "\n" + programs + "\n";
      claimOf(role).write(claim.getBytes(StandardCharsets.UTF_8));
      Optional<String> exposed = new NeighbourFilter(programs, address).hide(PATIENCE);
      boolean there = present();
      if (exposed.isPresent() && !there) {
        // nft makes all rules or none, so a release would have nothing to remove.
        claimOf(role).delete();
      }
      return exposed.isPresent() || there ? exposed : change("add");
    } finally {
      LOCK.unlock();
    }
  }

  /**
   * Forgets the claim of a role, and takes the address away if no other role claims it.
   *
   * @return empty if it is gone or still needed, else the reason why it is not gone
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

  /** Returns where the programs were when a role claimed the address; empty if it has not. */
  private Optional<Path> programsOf(FilePlacement claim) {
    return switch (claim.read()) {
      case Stored.Present<byte[]> noted -> Optional.of(programsOf(noted.value()));
      case Stored.None<byte[]> _ -> Optional.empty();
      case Stored.Corrupted<byte[]> _, Stored.Unreadable<byte[]> _ -> Optional.of(programs);
    };
  }

  /** A claim of an earlier build holds only the address. */
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
