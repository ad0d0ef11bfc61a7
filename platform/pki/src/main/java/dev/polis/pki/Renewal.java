package dev.polis.pki;

import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;

/**
 * Computes when a certificate is due for renewal: when a third of its lifetime is left. An operator
 * can use this third to notice and repair a fault of the renewal.
 *
 * @param notBefore start of the certificate's life
 * @param notAfter end of the certificate's life
 */
public record Renewal(Instant notBefore, Instant notAfter) {
  private static final int LAST_PART = 3;

  /** Returns the renewal of a certificate. */
  public static Renewal of(X509Certificate certificate) {
    return new Renewal(
        certificate.getNotBefore().toInstant(), certificate.getNotAfter().toInstant());
  }

  /** Returns the time from which the certificate is due for renewal. */
  public Instant dueAt() {
    return notAfter.minus(Duration.between(notBefore, notAfter).dividedBy(LAST_PART));
  }

  /** Returns whether {@link #dueAt} has come. */
  public boolean due(Instant now) {
    return !now.isBefore(dueAt());
  }

  /** Returns whether a time is outside the certificate's life. */
  public boolean invalid(Instant now) {
    return now.isBefore(notBefore) || now.isAfter(notAfter);
  }

  /** Returns the time until the renewal is due; zero if it is due. */
  public Duration until(Instant now) {
    Duration wait = Duration.between(now, dueAt());
    return wait.isNegative() ? Duration.ZERO : wait;
  }
}
