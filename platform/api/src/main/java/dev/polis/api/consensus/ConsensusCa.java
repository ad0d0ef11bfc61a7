package dev.polis.api.consensus;

import dev.polis.pki.CaBundle;
import dev.polis.pki.Fingerprint;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Describes the CA of etcd, and how far a rotation of it is.
 *
 * @param step the step of the rotation
 * @param cas the CA that issues certificates, then the one that will replace it, or that it has
 *     replaced; only the first in {@link Step#ONE}
 * @param waiting the members that have not reported the step yet, which the next step waits for:
 *     the name of each, or the URL of one that has never started
 */
public record ConsensusCa(Step step, CaBundle cas, List<String> waiting) {

  /** Lists the steps of a rotation. */
  public enum Step {
    /** Members trust one CA; those that wait still trust a retired one. */
    ONE,
    /** Members learn to trust the new CA too; the present one issues. */
    PREPARED,
    /** The new CA issues; members accept certificates of the former one, too. */
    ISSUING
  }

  public ConsensusCa {
    Objects.requireNonNull(step, "step");
    Objects.requireNonNull(cas, "cas");
    waiting = List.copyOf(waiting);
  }

  /** Returns the CA that issues certificates. */
  public X509Certificate issuing() {
    return cas.issuing();
  }

  /** Returns the CA that will replace it, or that it has replaced. */
  public Optional<X509Certificate> other() {
    return cas.certificates().stream().skip(1).findFirst();
  }

  /**
   * Returns whether a program has reached this step.
   *
   * @param trusted the fingerprints of the CAs with which it runs; the first one has signed its
   *     certificate
   */
  public boolean isReached(List<String> trusted) {
    String issuer = Fingerprint.of(issuing()).hex();
    return switch (step) {
      case ONE -> trusted.equals(List.of(issuer));
      case PREPARED -> trusted.contains(Fingerprint.of(other().orElseThrow()).hex());
      case ISSUING -> trusted.indexOf(issuer) == 0;
    };
  }

  /** Returns the same state with these members that wait. */
  public ConsensusCa withWaiting(List<String> now) {
    return new ConsensusCa(step, cas, now);
  }
}
