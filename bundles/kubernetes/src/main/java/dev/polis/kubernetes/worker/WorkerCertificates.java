package dev.polis.kubernetes.worker;

import com.google.protobuf.ByteString;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Identity;
import dev.polis.pki.IdentityException;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.pki.Renewal;
import dev.polis.wire.curator.IssueCertificateResponse;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Holds the certificates of a worker's programs.
 *
 * @param ca the identity CA of Kubernetes, which signed the others
 * @param kubeletServer the certificate of the kubelet as a server
 * @param kubeletClient the certificate of the kubelet as a client of the API server
 * @param provisioner the certificate of the volume provisioner
 * @param netservices the certificate of the service proxy and DNS
 */
record WorkerCertificates(
    X509Certificate ca,
    X509Certificate kubeletServer,
    X509Certificate kubeletClient,
    X509Certificate provisioner,
    X509Certificate netservices) {

  /** Reads the certificates from the curator's answer. */
  static WorkerCertificates of(IssueCertificateResponse.KubernetesWorker issued) {
    return new WorkerCertificates(
        certificate(issued.getIdentityCaCertificate()),
        certificate(issued.getKubeletServerCertificate()),
        certificate(issued.getKubeletClientCertificate()),
        certificate(issued.getCsiProvisionerCertificate()),
        certificate(issued.getNetservicesCertificate()));
  }

  private static X509Certificate certificate(ByteString der) {
    return Pem.certificate(der.toByteArray());
  }

  /** Reads the certificates from their files; empty if one is missing or damaged. */
  static Optional<WorkerCertificates> read(WorkerFiles files) {
    List<X509Certificate> stored =
        Stream.of(
                files.ca,
                files.kubeletServer,
                files.kubeletClient,
                files.provisioner,
                files.netservices)
            .flatMap(file -> read(file).stream())
            .toList();
    if (stored.size() < WorkerCertificates.class.getRecordComponents().length) {
      return Optional.empty();
    }
    return Optional.of(
        new WorkerCertificates(
            stored.get(0), stored.get(1), stored.get(2), stored.get(3), stored.get(4)));
  }

  private static Optional<X509Certificate> read(FilePlacement file) {
    try {
      return file.read() instanceof Stored.Present<byte[]> present
          ? Optional.of(Pem.certificate(new String(present.value(), StandardCharsets.UTF_8)))
          : Optional.empty();
    } catch (PkiException damaged) {
      // The curator issues them again.
      return Optional.empty();
    }
  }

  /** Returns the wanted content of each file. */
  Map<FilePlacement, String> texts(WorkerFiles files) {
    return Map.of(
        files.ca, Pem.encode(ca),
        files.kubeletServer, Pem.encode(kubeletServer),
        files.kubeletClient, Pem.encode(kubeletClient),
        files.provisioner, Pem.encode(provisioner),
        files.netservices, Pem.encode(netservices));
  }

  /** Returns whether the certificates belong to these keys, this address and their CA. */
  boolean match(WorkerKeys keys, InetAddress worker) {
    return isOf(kubeletServer, keys.kubelet())
        && isOf(kubeletClient, keys.kubelet())
        && isOf(provisioner, keys.provisioner())
        && isOf(netservices, keys.netservices())
        && Identity.addresses(kubeletServer).contains(worker);
  }

  private boolean isOf(X509Certificate certificate, PrivateKey key) {
    try {
      Identity.verifySignedBy(certificate, ca);
      return Ed25519.match(key, certificate.getPublicKey());
    } catch (IdentityException otherAuthority) {
      return false;
    }
  }

  /** Returns whether a certificate is due for renewal. */
  boolean due(Instant now) {
    return ofPrograms().anyMatch(certificate -> Renewal.of(certificate).due(now));
  }

  /** Returns the time at which the first certificate ends. */
  Instant firstEnd() {
    return ofPrograms()
        .map(certificate -> Renewal.of(certificate).notAfter())
        .min(Instant::compareTo)
        .orElseThrow();
  }

  private Stream<X509Certificate> ofPrograms() {
    return Stream.of(kubeletServer, kubeletClient, provisioner, netservices);
  }
}
