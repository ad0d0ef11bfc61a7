package dev.polis.ctl.session;

import dev.polis.pki.Ed25519;
import dev.polis.pki.OwnerKey;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.util.Optional;

/** Reads, writes and copies files that hold the private key of a cluster's owner. */
public final class OwnerKeyFile {

  private static final String RESTORE = "restore it from your copy";

  private OwnerKeyFile() {}

  /** Reads a key in either PEM form. */
  public static PrivateKey read(Path file, String ifMissing) {
    return parse(file, CtlFiles.read(file, ifMissing));
  }

  /** Returns the PEM form of a key. */
  public static OwnerKey.Form form(Path file) {
    return CtlFiles.parse(
        file, CtlFiles.read(file, RESTORE), OwnerKey::form, "Ed25519 key", RESTORE);
  }

  private static PrivateKey parse(Path file, String pem) {
    return CtlFiles.parse(file, pem, OwnerKey::read, "Ed25519 key", RESTORE);
  }

  /** Writes a key for the operator alone. */
  public static void write(Path file, PrivateKey key, OwnerKey.Form form) {
    CtlFiles.write(file, OwnerKey.write(key, form).getBytes(StandardCharsets.UTF_8));
  }

  /** Copies a key in the form it has; refuses to replace another one. */
  public static void copy(Path from, Path to) {
    copy(from, to, Optional.empty());
  }

  /**
   * Copies a key; refuses to replace another one.
   *
   * @param form how to write it; empty for as it is
   */
  public static void copy(Path from, Path to, Optional<OwnerKey.Form> form) {
    String pem = CtlFiles.read(from, "name the file of the owner's key");
    PrivateKey key = parse(from, pem);
    if (Files.exists(to) && !Ed25519.match(read(to, "try again"), Ed25519.publicKey(key))) {
      throw new CtlException(
          "%s holds another owner's key than %s; move it away first, and keep it: it may own a cluster"
              .formatted(to, from));
    }
    write(to, key, form.orElseGet(() -> OwnerKey.form(pem)));
  }
}
