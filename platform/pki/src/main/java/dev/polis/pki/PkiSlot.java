package dev.polis.pki;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Holds the entries of one name as read at one time, and makes the changes that replace them. A
 * missing entry is null.
 */
record PkiSlot(
    String name,
    PkiBackend.Entry storedKey,
    PkiBackend.Entry storedCertificate,
    PkiBackend.Entry storedSuperseded) {

  private static final String ISSUED = "issued/";
  private static final String CERTIFICATE = "-cert.der";

  /** Is a former certificate that has not expired. */
  record Superseded(BigInteger serial, Instant notAfter, Instant notBeforeOrNull) {
    static Superseded of(X509Certificate certificate) {
      return new Superseded(
          certificate.getSerialNumber(),
          certificate.getNotAfter().toInstant(),
          certificate.getNotBefore().toInstant());
    }

    String line() {
      return serial.toString(16)
          + " "
          + notAfter.getEpochSecond()
          + (notBeforeOrNull == null ? "" : " " + notBeforeOrNull.getEpochSecond());
    }

    static Superseded parse(String line) {
      String[] parts = line.split(" ");
      return new Superseded(
          new BigInteger(parts[0], 16),
          Instant.ofEpochSecond(Long.parseLong(parts[1])),
          // A former version of Polis did not write it.
          parts.length > 2 ? Instant.ofEpochSecond(Long.parseLong(parts[2])) : null);
    }
  }

  /**
   * Reads the entries of a name. It reads the certificate before the key: another process may
   * create both in one transaction meanwhile, and the key must not seem to be missing.
   */
  static PkiSlot read(PkiBackend backend, String name) throws InterruptedException {
    PkiBackend.Entry certificate = backend.get(certificatePath(name)).orElse(null);
    return new PkiSlot(
        name,
        backend.get(keyPath(name)).orElse(null),
        certificate,
        backend.get(supersededPath(name)).orElse(null));
  }

  private static String keyPath(String name) {
    return "keys/" + name + "-privkey.bin";
  }

  private static String certificatePath(String name) {
    return ISSUED + name + CERTIFICATE;
  }

  /** Returns the name of a certificate that is stored under a key; empty for other keys. */
  static Optional<String> nameOf(String key) {
    return key.startsWith(ISSUED) && key.endsWith(CERTIFICATE)
        ? Optional.of(key.substring(ISSUED.length(), key.length() - CERTIFICATE.length()))
        : Optional.empty();
  }

  private static String supersededPath(String name) {
    return ISSUED + name + "-superseded.txt";
  }

  Optional<PrivateKey> key() {
    return Optional.ofNullable(storedKey)
        .map(
            entry -> {
              try {
                return Ed25519.privateKey(entry.value());
              } catch (PkiException e) {
                throw unreadable(keyPath(name), e);
              }
            });
  }

  Optional<X509Certificate> certificate() {
    return Optional.ofNullable(storedCertificate)
        .map(
            entry -> {
              try {
                return Pem.certificate(entry.value());
              } catch (PkiException e) {
                throw unreadable(certificatePath(name), e);
              }
            });
  }

  private static PkiException unreadable(String path, Exception e) {
    return new PkiException(
        "the node cannot read the stored object %s and does not replace it; restore it from a snapshot: %s"
            .formatted(path, e.getMessage()),
        e);
  }

  /** Returns the serial numbers of all unexpired certificates of this name. */
  List<BigInteger> serials(Instant now) {
    List<BigInteger> serials = new ArrayList<>();
    certificate().map(X509Certificate::getSerialNumber).ifPresent(serials::add);
    superseded(now).forEach(former -> serials.add(former.serial()));
    return serials;
  }

  List<Superseded> superseded(Instant now) {
    String text =
        storedSuperseded == null
            ? ""
            : new String(storedSuperseded.value(), StandardCharsets.UTF_8);
    try {
      return text.lines().map(Superseded::parse).filter(s -> s.notAfter().isAfter(now)).toList();
    } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
      throw unreadable(supersededPath(name), e);
    }
  }

  PkiBackend.Change putKey(PrivateKey key) {
    return new PkiBackend.Put(keyPath(name), key.getEncoded(), revision(storedKey));
  }

  /** Returns the changes that store a certificate and keep the serial number of its predecessor. */
  List<PkiBackend.Change> putCertificate(X509Certificate certificate, Instant now) {
    List<PkiBackend.Change> changes = new ArrayList<>();
    changes.add(
        new PkiBackend.Put(
            certificatePath(name), Pem.der(certificate), revision(storedCertificate)));
    certificate()
        .ifPresent(
            former -> {
              var lines = new StringBuilder();
              superseded(now).forEach(older -> lines.append(older.line()).append('\n'));
              lines.append(Superseded.of(former).line()).append('\n');
              changes.add(
                  new PkiBackend.Put(
                      supersededPath(name),
                      lines.toString().getBytes(StandardCharsets.UTF_8),
                      revision(storedSuperseded)));
            });
    return changes;
  }

  /** Returns a condition that fails if another certificate was issued since the read. */
  PkiBackend.Change unchanged() {
    return new PkiBackend.Require(certificatePath(name), revision(storedCertificate));
  }

  List<PkiBackend.Change> delete() {
    List<PkiBackend.Change> changes = new ArrayList<>();
    delete(changes, keyPath(name), storedKey);
    delete(changes, certificatePath(name), storedCertificate);
    delete(changes, supersededPath(name), storedSuperseded);
    return changes;
  }

  private static void delete(
      List<PkiBackend.Change> changes, String path, PkiBackend.Entry stored) {
    if (stored != null) {
      changes.add(new PkiBackend.Delete(path, stored.revision()));
    }
  }

  private static long revision(PkiBackend.Entry stored) {
    return stored == null ? 0 : stored.revision();
  }

  /** Omits the stored entries. */
  @Override
  public String toString() {
    return "PkiSlot[" + name + "]";
  }
}
