package dev.polis.cluster;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.curator.BootstrapOutcome;
import dev.polis.api.curator.BootstrapRequest;
import dev.polis.api.curator.NodeLabels;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.wire.api.NodeParameters.ClusterBootstrap;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterDirectory;
import dev.polis.wire.storage.EnrolmentJournal;
import dev.polis.wire.storage.EnrolmentJournal.Flow;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.time.InstantSource;

/**
 * Creates a cluster whose first node is this one. Every step is repeatable, and the journal on the
 * ESP records the completed ones: after a kill the flow starts at the first step and reaches the
 * same result.
 */
final class BootstrapFlow {

  private final EnrolmentOrgans organs;
  private final EnrolmentSteps steps;
  private final EnrolmentDisk disk;
  private final SecureRandom random;

  BootstrapFlow(
      EnrolmentOrgans organs, EnrolmentSteps steps, SecureRandom random, InstantSource clock) {
    this.organs = organs;
    this.steps = steps;
    this.disk = new EnrolmentDisk(organs, steps, clock);
    this.random = random;
  }

  /**
   * Creates the cluster, or continues an interrupted run.
   *
   * @return the node's credentials, with all their data on the disk
   * @throws EnrolmentException if a step fails, naming the step
   */
  NodeCredentials run(ClusterBootstrap parameters) throws InterruptedException {
    InetAddress address = organs.awaitNetwork(steps);
    EnrolmentJournal journal =
        disk.open(Flow.FLOW_BOOTSTRAP, parameters, started -> begin(started, parameters));
    EnrolmentKeys keys = EnrolmentKeys.of(journal);
    NodeId id = keys.id();
    steps.log().info("this node is %s", id);
    EnrolmentJournal mounted = disk.makeVolume(journal, keys, parameters.getRecoveryPublicKey());
    steps.step("consensus", wait -> organs.startNewConsensus(keys.node().getPrivate(), wait));
    BootstrapOutcome outcome =
        steps.step(
            "cluster records",
            wait -> organs.curator().bootstrap(request(parameters, journal, keys, id)));
    NodeCredentials credentials =
        new NodeCredentials(keys.node().getPrivate(), outcome.node(), outcome.clusterCa());
    EnrolmentJournal committed = disk.committed(mounted, credentials);
    disk.complete(committed, keys, credentials, directory(id, address));
    return credentials;
  }

  private EnrolmentJournal.Builder begin(
      EnrolmentJournal.Builder journal, ClusterBootstrap parameters) throws Exception {
    ClusterConfiguration configuration =
        parameters.hasInitialClusterConfiguration()
            ? parameters.getInitialClusterConfiguration()
            : SecurityPolicy.defaults();
    StorageSecurity security =
        SecurityPolicy.security(
            configuration.getStorageSecurityPolicy(), organs.storage().preferred());
    organs.storage().require(security);
    return EnrolmentKeys.generate(journal, random)
        .setStorageSecurity(security.wire())
        .setTpmUsage(SecurityPolicy.tpm(configuration.getTpmMode(), organs.hasTpm()))
        .setClusterConfiguration(configuration);
  }

  private BootstrapRequest request(
      ClusterBootstrap parameters, EnrolmentJournal journal, EnrolmentKeys keys, NodeId id) {
    return new BootstrapRequest(
        id,
        keys.node().getPublic(),
        keys.join().getPublic(),
        keys.unlock().cluster(),
        journal.getStorageSecurity(),
        Ed25519.publicKey(parameters.getOwnerPublicKey().toByteArray()),
        parameters.getRecoveryPublicKey(),
        journal.getClusterConfiguration(),
        journal.getTpmUsage(),
        NodeLabels.of(NodeParametersLoader.sanitized(parameters.getLabels(), steps.log())));
  }

  private static ClusterDirectory directory(NodeId id, InetAddress address) {
    return ClusterDirectory.newBuilder()
        .addNodes(
            ClusterDirectory.Node.newBuilder()
                .setId(id.text())
                .addAddresses(
                    ClusterDirectory.Node.Address.newBuilder().setHost(address.getHostAddress())))
        .build();
  }
}
