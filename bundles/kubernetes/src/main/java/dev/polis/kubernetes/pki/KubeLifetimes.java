package dev.polis.kubernetes.pki;

import dev.polis.pki.CertificateTemplate;
import java.time.Duration;

/**
 * Holds the lifetimes of new certificates of Kubernetes.
 *
 * @param certificates the lifetime of programs' certificates
 * @param authorities the lifetime of their authorities
 */
public record KubeLifetimes(Duration certificates, Duration authorities) {

  /** The lifetimes of the cluster's own certificates. */
  public static final KubeLifetimes STANDARD =
      new KubeLifetimes(CertificateTemplate.NODE_LIFETIME, CertificateTemplate.AUTHORITY_LIFETIME);
}
