package dev.polis.ctl.owner;

import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.ExitCode;
import dev.polis.pki.PkiException;
import dev.polis.pki.RecoveryKey;
import dev.polis.wire.cluster.GetRecoveryChallengeResponse;
import dev.polis.wire.storage.RecoveryShare;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;

/** Reads, tries and copies the file of a recovery key. */
final class RecoveryKeyFile {

  /** Stands for standard input where a file is asked for. */
  private static final Path STANDARD_INPUT = Path.of("-");

  // The PEM text has about 120 characters; more is something else.
  private static final int LONGEST = 4096;

  private RecoveryKeyFile() {}

  /** Reads the text of a key, from standard input if the file is {@code -}. */
  static String read(Path file) {
    if (!file.equals(STANDARD_INPUT)) {
      return CtlFiles.read(file, "name the file that holds the recovery key");
    }
    try {
      return new String(System.in.readNBytes(LONGEST), StandardCharsets.US_ASCII);
    } catch (IOException e) {
      throw new CtlException("standard input cannot be read: " + e, e);
    }
  }

  /** Returns the public half of a key, 32 bytes. */
  static byte[] publicKey(Path file, String pem) {
    return CtlFiles.parse(
        file, pem, RecoveryKey::publicKey, "X25519 key", "restore it from your copy");
  }

  /**
   * Tries a key on a share.
   *
   * @param share what is sealed, of the node's disk
   * @throws CtlException NOT_MET if the key does not open it, naming both keys
   */
  static void requireOpens(Path file, String pem, RecoveryShare share) {
    byte[] given = publicKey(file, pem);
    byte[] wanted = share.getRecoveryPublicKey().toByteArray();
    if (!Arrays.equals(given, wanted)) {
      throw new CtlException(
          ExitCode.NOT_MET,
          "%s does not open the recovery share: it is the key %s, the share is sealed to %s"
              .formatted(file, HexFormat.of().formatHex(given), HexFormat.of().formatHex(wanted)));
    }
    byte[] secret = RecoveryKey.privateKey(pem);
    try {
      Arrays.fill(
          RecoveryKey.open(
              secret,
              new RecoveryKey.Sealed(
                  share.getEncapsulatedKey().toByteArray(), share.getCiphertext().toByteArray())),
          (byte) 0);
    } catch (PkiException e) {
      throw new CtlException(
          ExitCode.NOT_MET,
          "%s is the key that the recovery share names, but the share is damaged; make another one with '%s recovery-key enroll'"
              .formatted(file, CtlName.called()),
          e);
    } finally {
      Arrays.fill(secret, (byte) 0);
    }
  }

  /**
   * Opens the answer of the cluster's challenge.
   *
   * @return the answer, which the caller erases
   * @throws CtlException NOT_MET if the key does not open it, naming the key
   */
  static byte[] answer(Path file, String pem, GetRecoveryChallengeResponse given) {
    byte[] secret = RecoveryKey.privateKey(pem);
    try {
      return RecoveryKey.open(
          RecoveryKey.Use.CHALLENGE,
          secret,
          new RecoveryKey.Sealed(
              given.getEncapsulatedKey().toByteArray(), given.getCiphertext().toByteArray()));
    } catch (PkiException e) {
      throw new CtlException(
          ExitCode.NOT_MET,
          "%s is not the recovery key of this cluster: it is the key %s; name the recovery key that the first node was given, or the one that has replaced it; nothing was changed"
              .formatted(file, HexFormat.of().formatHex(publicKey(file, pem))),
          e);
    } finally {
      Arrays.fill(secret, (byte) 0);
    }
  }

  /**
   * Copies a key to a file that is not there, durably, and reads it back. A copy that an
   * interrupted call left is found and kept.
   */
  static void copy(Path from, Path to) {
    String pem = CtlFiles.read(from, "there is no recovery key to move");
    if (Files.exists(to) && pem.chars().allMatch(each -> each == 0)) {
      // An interrupted call has overwritten the original and not yet removed it.
      publicKey(to, CtlFiles.read(to, "name the file that holds the key"));
      return;
    }
    publicKey(from, pem);
    if (Files.exists(to)) {
      if (!pem.equals(CtlFiles.read(to, "remove it"))) {
        throw new CtlException(
            to + " exists and has other content; name another file; nothing was changed");
      }
      return;
    }
    CtlFiles.write(to, pem.getBytes(StandardCharsets.US_ASCII));
    if (!pem.equals(CtlFiles.read(to, "nothing was erased"))) {
      throw new CtlException(to + " does not read back as it was written; nothing was erased");
    }
  }
}
