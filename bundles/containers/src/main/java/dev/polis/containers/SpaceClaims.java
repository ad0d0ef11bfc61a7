package dev.polis.containers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Adds up the disk space that archives under way will still take, so that no two of them count on
 * the same space. Usable from any thread.
 */
final class SpaceClaims {
  private static final DiskSpace NONE = new DiskSpace(0, 0);

  /** Measures the free bytes of a file's disk. */
  @FunctionalInterface
  interface Free {
    long at(Path file) throws IOException;
  }

  private final Free free;
  private DiskSpace all = NONE;

  SpaceClaims() {
    this(file -> Files.getFileStore(file).getUsableSpace());
  }

  /** Creates claims for a test that decides how much is free. */
  SpaceClaims(Free free) {
    this.free = free;
  }

  /** Begins the claim of one archive. */
  Claim begin() {
    return new Claim();
  }

  private synchronized DiskSpace others(Claim claim) {
    return all.minus(claim.own);
  }

  /** Is the space that one archive will still take. */
  final class Claim implements AutoCloseable {
    private DiskSpace own = NONE;

    /**
     * Returns the free space that no other archive claims.
     *
     * @param there the free space of the place where it is used, if that has another disk than the
     *     archive
     */
    DiskSpace left(Path archive, DiskSpace there) throws IOException {
      // The measurement and the other claims belong together: an archive that is written turns one
      // into the other.
      synchronized (SpaceClaims.this) {
        return new DiskSpace(Math.min(free.at(archive), there.bytes()), there.inodes())
            .minus(others(this));
      }
    }

    /**
     * Replaces this claim by another one if the space that no other archive claims holds it.
     *
     * @param reserve the space that stays free
     * @return whether it was replaced
     */
    boolean grow(DiskSpace wanted, Path archive, DiskSpace there, DiskSpace reserve)
        throws IOException {
      synchronized (SpaceClaims.this) {
        DiskSpace rest = left(archive, there).minus(wanted).minus(reserve);
        if (rest.bytes() < 0 || rest.inodes() < 0) {
          return false;
        }
        all = others(this).plus(wanted);
        own = wanted;
        return true;
      }
    }

    /** Gives the space back. */
    @Override
    public void close() {
      synchronized (SpaceClaims.this) {
        all = others(this);
        own = NONE;
      }
    }
  }
}
