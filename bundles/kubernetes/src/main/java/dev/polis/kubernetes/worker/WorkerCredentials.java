package dev.polis.kubernetes.worker;

import dev.polis.pki.TlsIdentity;

/** Holds the keys of a worker's programs and the certificates over them. */
record WorkerCredentials(WorkerKeys keys, WorkerCertificates certificates) {

  /** Returns the kubelet as a client of the API server. */
  TlsIdentity kubelet() {
    return TlsIdentity.of(keys.kubelet(), certificates.kubeletClient());
  }

  /** Returns the volume provisioner as a client of the API server. */
  TlsIdentity provisioner() {
    return TlsIdentity.of(keys.provisioner(), certificates.provisioner());
  }
}
