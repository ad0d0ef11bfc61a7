package dev.polis.kubernetes.pki;

import dev.polis.pki.CertificateTemplate;
import java.time.Duration;

/**
 * Says how long new certificates of Kubernetes are valid.
 *
 * @param certificates of programs
 * @param authorities of the authorities that sign them
 */
public record KubeLifetimes(Duration certificates, Duration authorities) {

  /** Those of the cluster's own certificates. */
  public static final KubeLifetimes STANDARD =
      new KubeLifetimes(CertificateTemplate.NODE_LIFETIME, CertificateTemplate.AUTHORITY_LIFETIME);
}
