package dev.polis.ctl.session;

import dev.polis.pki.CaBundle;
import dev.polis.pki.Crl;
import dev.polis.pki.IdentityException;
import dev.polis.pki.PkiException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * Remembers which certificates the cluster has revoked, so that a node that was removed is not
 * taken for one of the cluster. The file is empty while nothing is revoked: then no command reads a
 * list.
 */
final class KnownRevocations {

  /** The age of a list that is asked for again; each command would cost one more call. */
  private static final Duration OLD = Duration.ofHours(1);

  private final Path file;

  /**
   * Reads and writes in a folder.
   *
   * @param folder the folder of the operator's key
   */
  KnownRevocations(Path folder) {
    this.file = folder.resolve("revocations.crl");
  }

  /**
   * Returns the list; empty if none is known, and if it is of CAs that the cluster has replaced.
   *
   * @throws CtlException if the file is damaged: without it a removed node would be accepted
   */
  Optional<Crl> list(CaBundle ca) {
    try {
      byte[] der = Files.exists(file) ? Files.readAllBytes(file) : new byte[0];
      return der.length == 0
          ? Optional.empty()
          : Optional.of(Crl.parse(der)).filter(each -> isOf(each, ca));
    } catch (IOException | PkiException damaged) {
      throw new CtlException(
          "%s holds no revocation list (%s); remove it, and it is made anew"
              .formatted(file, damaged.getMessage()),
          damaged);
    }
  }

  private static boolean isOf(Crl list, CaBundle ca) {
    try {
      list.verify(ca);
      return true;
    } catch (IdentityException other) {
      return false;
    }
  }

  /** Returns whether the list is unknown or old. */
  boolean isDue() {
    try {
      return Files.getLastModifiedTime(file).toInstant().plus(OLD).isBefore(Instant.now());
    } catch (IOException none) {
      return true;
    }
  }

  /**
   * Keeps a list of the cluster, unless the known one is newer.
   *
   * @throws PkiException if none of the CAs has signed it
   */
  void learn(Crl list, CaBundle ca) {
    list.verify(ca);
    boolean older =
        list(ca).filter(known -> known.number().compareTo(list.number()) > 0).isPresent();
    if (!older) {
      CtlFiles.write(file, list.serials().isEmpty() ? new byte[0] : list.der());
    }
  }
}
