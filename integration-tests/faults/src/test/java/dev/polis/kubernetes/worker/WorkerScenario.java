package dev.polis.kubernetes.worker;

import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.power.PowerScenario;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.stream.Stream;

/** Makes the keys of a worker's programs, and stores certificates for them. */
final class WorkerScenario implements PowerScenario {

  private final X509Certificate certificate =
      CertificateAuthority.create("Kubernetes").certificate();

  @Override
  public List<Step> steps() {
    return List.of(
        root -> files(root),
        root -> WorkerKeys.ensure(files(root)),
        root -> {
          WorkerFiles files = files(root);
          WorkerCertificates all =
              new WorkerCertificates(
                  certificate, certificate, certificate, certificate, certificate);
          for (var each : all.texts(files).entrySet()) {
            WorkerFiles.write(each.getKey(), each.getValue());
          }
        });
  }

  private static WorkerFiles files(Path root) throws Exception {
    return new WorkerFiles(
        declared -> {
          var folder = Root.at(root).data().organFolder(declared);
          folder.create();
          return folder;
        });
  }

  @Override
  public String observe(Path root) throws Exception {
    WorkerFiles files = files(root);
    long keys =
        Stream.of(files.kubeletKey, files.provisionerKey, files.netservicesKey)
            .filter(WorkerScenario::isWhole)
            .count();
    return "keys %d, certificates %s".formatted(keys, WorkerCertificates.read(files).isPresent());
  }

  /**
   * Returns whether a key exists; fails for a damaged one, which the node would refuse and not
   * overwrite.
   */
  private static boolean isWhole(FilePlacement file) {
    if (file.read() instanceof Stored.Present<byte[]>(Path _, byte[] pem)) {
      Ed25519.publicKey(Pem.privateKey(new String(pem, StandardCharsets.UTF_8)));
      return true;
    }
    return false;
  }

  /**
   * Allows any part of the keys: each is made separately, and the next start makes the missing
   * ones.
   */
  @Override
  public boolean underWay(String observed) {
    return observed.equals("keys 1, certificates false")
        || observed.equals("keys 2, certificates false");
  }
}
