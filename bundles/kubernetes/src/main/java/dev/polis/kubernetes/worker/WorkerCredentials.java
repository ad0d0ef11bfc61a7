package dev.polis.kubernetes.worker;

import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsIdentity;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Holds the keys of a worker's programs with their certificates. */
record WorkerCredentials(WorkerKeys keys, WorkerCertificates certificates) {

  /** Returns the kubelet's identity as a client of the API server. */
  TlsIdentity kubelet() {
    return TlsIdentity.of(keys.kubelet(), certificates.kubeletClient());
  }

  /** Returns the volume provisioner's identity as a client of the API server. */
  TlsIdentity provisioner() {
    return TlsIdentity.of(keys.provisioner(), certificates.provisioner());
  }

  /**
   * Writes keys and certificates to their files.
   *
   * @return the paths of the changed files
   */
  List<String> write(WorkerFiles files) throws FileException {
    Map<FilePlacement, String> texts = new LinkedHashMap<>(certificates.texts(files));
    texts.put(files.kubeletKey, Pem.encode(keys.kubelet()));
    texts.put(files.provisionerKey, Pem.encode(keys.provisioner()));
    texts.put(files.netservicesKey, Pem.encode(keys.netservices()));
    List<String> written = new ArrayList<>();
    synchronized (files) {
      for (Map.Entry<FilePlacement, String> each : texts.entrySet()) {
        if (WorkerFiles.write(each.getKey(), each.getValue())) {
          written.add(each.getKey().path().toString());
        }
      }
    }
    return written;
  }
}
