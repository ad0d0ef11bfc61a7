package dev.polis.kubernetes.worker;

import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import java.nio.charset.StandardCharsets;
import java.security.PrivateKey;

/** Holds the private keys of a worker's programs, which never leave the node. */
record WorkerKeys(PrivateKey kubelet, PrivateKey provisioner, PrivateKey netservices) {

  /** Reads the keys, and makes missing ones. */
  static WorkerKeys ensure(WorkerFiles files) throws FileException {
    return new WorkerKeys(
        ensure(files.kubeletKey), ensure(files.provisionerKey), ensure(files.netservicesKey));
  }

  private static PrivateKey ensure(FilePlacement file) throws FileException {
    Stored<byte[]> stored = file.read();
    return stored instanceof Stored.None<byte[]>
        ? make(file)
        : Pem.privateKey(new String(stored.orThrow(), StandardCharsets.UTF_8));
  }

  private static PrivateKey make(FilePlacement file) throws FileException {
    PrivateKey key = Ed25519.generate().getPrivate();
    file.write(Pem.encode(key).getBytes(StandardCharsets.UTF_8));
    return key;
  }

  @Override
  public String toString() {
    return "WorkerKeys[<secret keys>]";
  }
}
