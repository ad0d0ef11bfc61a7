package dev.polis.cluster;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;
import dev.polis.logtree.Secret;
import dev.polis.pki.NodeCredentials;
import java.nio.charset.StandardCharsets;

/** Brings a node back that was a member before. It changes nothing on disk. */
final class JoinFlow {

  private final EnrolmentOrgans organs;
  private final EnrolmentSteps steps;
  private final RecoveryKeySource recoveryKey;

  JoinFlow(EnrolmentOrgans organs, EnrolmentSteps steps, RecoveryKeySource recoveryKey) {
    this.organs = organs;
    this.steps = steps;
    this.recoveryKey = recoveryKey;
  }

  /**
   * Opens the volume, reads the credentials and starts consensus.
   *
   * @throws EnrolmentException if a step fails; names it
   */
  NodeCredentials run(SealedConfiguration sealed) throws InterruptedException {
    steps.step("network address", organs::awaitAddress);
    steps.step(
        "data volume",
        wait -> {
          mount(sealed);
          return sealed.security().toString();
        });
    NodeCredentials credentials = steps.step("node credentials", wait -> read(sealed));
    steps.log().info("this node is %s", credentials.id());
    steps.step(
        "consensus",
        wait -> {
          organs.network().publishLocalName(credentials.id());
          return organs.startExistingConsensus(credentials.privateKey(), wait);
        });
    return credentials;
  }

  private void mount(SealedConfiguration sealed) throws FileException, InterruptedException {
    boolean mounted = organs.storage().data().peek().orElseThrow() instanceof DataStatus.Mounted;
    if (mounted || sealed.security() == StorageSecurity.INSECURE) {
      // Needs no key; checks that what is mounted is this node's own.
      organs.storage().mountExisting(sealed);
      return;
    }
    try (Secret clusterUnlockKey = clusterUnlockKey(sealed.security())) {
      organs.storage().mountExisting(sealed, clusterUnlockKey);
    }
  }

  private Secret clusterUnlockKey(StorageSecurity security) throws FileException {
    if (!organs.storage().recoveryShare().exists()) {
      throw new EnrolmentException(
          "the volume is %s and the cluster's half of its key is on no other node; there is no"
                  .formatted(security)
              + " recovery share either: the node parameters named no recovery_public_key, and none"
              + " was enrolled while the node ran. Nothing opens this volume; if there is a copy of"
              + " esp/recovery_share.pb, restore it");
    }
    try (Secret key = recoveryKey.read()) {
      steps.log().info("opening the data volume with the owner's %s", recoveryKey);
      return organs.storage().recoveryShare().open(key);
    }
  }

  private NodeCredentials read(SealedConfiguration sealed) throws FileException {
    var files = organs.storage().root().data().node().credentials();
    NodeCredentials credentials =
        NodeCredentials.fromPem(
            text(files.key().read().orThrow()),
            text(files.certificate().read().orThrow()),
            text(files.clusterCa().read().orThrow()));
    if (!credentials.ca().equals(sealed.clusterCa())) {
      throw new EnrolmentException(
          "%s holds the credentials of another cluster (CA %s) than the sealed configuration (CA %s);"
                  .formatted(
                      files,
                      credentials.ca().getSerialNumber(),
                      sealed.clusterCa().getSerialNumber())
              + " bring the esp and the data of one node together again");
    }
    return credentials;
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
