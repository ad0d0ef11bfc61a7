package dev.polis.pki;

import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;

/**
 * Computes when a certificate is to be replaced: once only a third of its lifetime is left. Two
 * thirds in, the remaining third is the time there is to notice and repair whatever keeps it from
 * being renewed.
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

  /** Returns the time from which the certificate is to be replaced. */
  public Instant dueAt() {
    return notAfter.minus(Duration.between(notBefore, notAfter).dividedBy(LAST_PART));
  }

  /** Returns whether {@link #dueAt} has come. */
  public boolean due(Instant now) {
    return !now.isBefore(dueAt());
  }

  /** Returns whether the certificate is not valid yet or no longer. */
  public boolean invalid(Instant now) {
    return now.isBefore(notBefore) || now.isAfter(notAfter);
  }

  /** Returns how long to wait until it is due; zero if it is. */
  public Duration until(Instant now) {
    Duration wait = Duration.between(now, dueAt());
    return wait.isNegative() ? Duration.ZERO : wait;
  }
}
