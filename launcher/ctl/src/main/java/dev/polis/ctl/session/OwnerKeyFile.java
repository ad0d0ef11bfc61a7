package dev.polis.ctl.session;

import dev.polis.pki.Ed25519;
import dev.polis.pki.OwnerKey;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Pattern;

/** Makes, reads and copies files with the private key of a cluster's owner or of an operator. */
public final class OwnerKeyFile {

  private static final Pattern PUBLIC = Pattern.compile("[0-9a-fA-F]{64}");

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

  /** Makes a key; refuses to replace a file. */
  public static PublicKey make(Path file) {
    if (Files.exists(file)) {
      throw new CtlException(
          "%s exists, and polisctl never replaces a key; choose another file".formatted(file));
    }
    PrivateKey made = Ed25519.generate().getPrivate();
    write(file, made, OwnerKey.Form.PKCS8);
    return Ed25519.publicKey(made);
  }

  /**
   * Returns a public key.
   *
   * @param text 64 hexadecimal digits, or a file with the public or the private key in PEM
   */
  public static PublicKey publicKey(String text) {
    if (PUBLIC.matcher(text).matches()) {
      return parsed(text);
    }
    Path file = Path.of(text);
    String pem =
        CtlFiles.read(file, "name a file with a key, or the public key in 64 hexadecimal digits");
    return CtlFiles.parse(
        file,
        pem,
        each ->
            each.contains("-----BEGIN PUBLIC KEY-----")
                ? Pem.publicKey(each)
                : Ed25519.publicKey(OwnerKey.read(each)),
        "Ed25519 key",
        "make one with '" + CtlName.called() + " operator key FILE'");
  }

  private static PublicKey parsed(String hexadecimal) {
    try {
      return Ed25519.publicKey(HexFormat.of().parseHex(hexadecimal));
    } catch (PkiException e) {
      throw new CtlException(
          "%s is no public Ed25519 key: %s; copy it as 'operator key' shows it"
              .formatted(hexadecimal, e.getMessage()),
          e);
    }
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
    String pem = CtlFiles.read(from, "name the file of your key");
    PrivateKey key = parse(from, pem);
    if (Files.exists(to) && !Ed25519.match(read(to, "try again"), Ed25519.publicKey(key))) {
      throw new CtlException(
          "%s holds another key than %s; move it away first, and keep it: it may own a cluster"
              .formatted(to, from));
    }
    write(to, key, form.orElseGet(() -> OwnerKey.form(pem)));
  }
}
