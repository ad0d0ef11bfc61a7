package dev.polis.pki;

import java.math.BigInteger;
import java.time.Instant;
import java.util.Optional;

/**
 * Describes a certificate that an authority has issued to a name.
 *
 * @param name the name in the store
 * @param serial its serial number
 * @param notBeforeOrNull the begin of its life; null for one that a former version of Polis
 *     replaced
 * @param notAfter the end of its life
 * @param newest whether it is the newest one of its name
 * @param revoked whether the authority has revoked it
 */
public record IssuedCertificate(
    String name,
    BigInteger serial,
    Instant notBeforeOrNull,
    Instant notAfter,
    boolean newest,
    boolean revoked) {

  /** Returns the begin of its life; empty for one that a former version of Polis replaced. */
  public Optional<Instant> notBefore() {
    return Optional.ofNullable(notBeforeOrNull);
  }
}
