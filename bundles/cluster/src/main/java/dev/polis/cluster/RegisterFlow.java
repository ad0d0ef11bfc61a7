package dev.polis.cluster;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.storage.MachineAttester;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.boot.Wait;
import dev.polis.files.FileException;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.wire.api.NodeParameters.ClusterRegister;
import dev.polis.wire.cluster.AttestationEvidence;
import dev.polis.wire.cluster.AttestationGrpc;
import dev.polis.wire.cluster.GetAttestationChallengeRequest;
import dev.polis.wire.common.NodeLabels;
import dev.polis.wire.common.NodeStorageSecurity;
import dev.polis.wire.curator.CommitNodeRequest;
import dev.polis.wire.curator.CommitNodeResponse;
import dev.polis.wire.curator.CuratorGrpc.CuratorBlockingV2Stub;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.curator.RegisterNodeResponse;
import dev.polis.wire.storage.EnrolmentJournal;
import dev.polis.wire.storage.EnrolmentJournal.Flow;
import dev.polis.wire.storage.EnrolmentJournal.Step;
import io.grpc.Status;
import io.grpc.StatusException;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;

/**
 * Makes this node a member of an existing cluster. As in a bootstrap, each step is repeatable and
 * the journal records the completed ones, so a kill at any point ends in the same member.
 */
final class RegisterFlow {

  /** The time between two questions whether an operator has approved this node. */
  private static final Duration APPROVAL_PAUSE = Duration.ofSeconds(1);

  /** Publishes how this node stands before it is a member. */
  @FunctionalInterface
  interface Progress {
    void reached(ClusterState state, String reason);
  }

  private final EnrolmentOrgans organs;
  private final EnrolmentSteps steps;
  private final EnrolmentDisk disk;
  private final SecureRandom random;

  RegisterFlow(
      EnrolmentOrgans organs, EnrolmentSteps steps, SecureRandom random, InstantSource clock) {
    this.organs = organs;
    this.steps = steps;
    this.disk = new EnrolmentDisk(organs, steps, clock);
    this.random = random;
  }

  /**
   * Registers, waits for the approval, and commits; or continues where an earlier run was
   * interrupted.
   *
   * @param parameters checked
   * @return the node's credentials; everything they need is on disk
   * @throws EnrolmentException if a step fails; names it
   */
  NodeCredentials run(ClusterRegister parameters, Progress progress) throws InterruptedException {
    organs.awaitNetwork(steps);
    EnrolmentJournal journal =
        disk.open(
            Flow.FLOW_REGISTER, parameters, started -> EnrolmentKeys.generate(started, random));
    EnrolmentKeys keys = EnrolmentKeys.of(journal);
    steps.log().info("this node is %s", keys.id());
    X509Certificate ca = Pem.certificate(parameters.getCaCertificate().toByteArray());
    EnrolmentJournal committed;
    try (ClusterCalls cluster =
        new ClusterCalls(
            keys.node(),
            CaBundle.of(ca),
            CuratorAddresses.of(parameters.getClusterDirectory()),
            steps.log())) {
      EnrolmentJournal registered = registered(journal, parameters, keys, cluster);
      EnrolmentJournal mounted =
          disk.makeVolume(registered, keys, parameters.getRecoveryPublicKey());
      committed = committed(mounted, keys, ca, cluster, progress);
    }
    progress.reached(
        ClusterState.TRUSTED, "the cluster has issued the certificate of " + keys.id());
    NodeCredentials credentials = credentials(committed, keys);
    disk.complete(committed, keys, credentials, parameters.getClusterDirectory());
    return credentials;
  }

  private static NodeCredentials credentials(EnrolmentJournal journal, EnrolmentKeys keys) {
    return new NodeCredentials(
        keys.node().getPrivate(),
        Pem.certificate(journal.getNodeCertificate().toByteArray()),
        Pem.certificate(journal.getCaCertificate().toByteArray()));
  }

  // ---- register

  private EnrolmentJournal registered(
      EnrolmentJournal journal,
      ClusterRegister parameters,
      EnrolmentKeys keys,
      ClusterCalls cluster)
      throws InterruptedException {
    if (EnrolmentDisk.reached(journal, Step.STEP_REGISTERED)) {
      return journal;
    }
    steps.step("cluster", cluster::awaitCluster);
    RegisterNodeRequest request =
        RegisterNodeRequest.newBuilder()
            .setRegisterTicket(parameters.getRegisterTicket())
            .setJoinKey(ByteString.copyFrom(Ed25519.raw(keys.join().getPublic())))
            .setHaveLocalTpm(organs.hasTpm())
            .setLabels(labels(parameters))
            .build();
    RegisterNodeResponse settings =
        steps.step(
            "registration",
            wait -> refusable(() -> cluster.call(wait, leader -> register(leader, request, keys))));
    StorageSecurity security = steps.step("storage security", wait -> chosen(settings));
    return disk.advance(
        journal.toBuilder()
            .setClusterConfiguration(settings.getClusterConfiguration())
            .setTpmUsage(settings.getTpmUsage())
            .setStorageSecurity(security.wire())
            .build(),
        Step.STEP_REGISTERED);
  }

  /** Registers with evidence of the TPM, if there is a TPM and the leader asks for it. */
  private RegisterNodeResponse register(
      CuratorBlockingV2Stub leader, RegisterNodeRequest request, EnrolmentKeys keys)
      throws StatusException {
    RegisterNodeRequest.Builder attested = request.toBuilder();
    evidence(leader, request, keys).ifPresent(attested::setAttestation);
    // The TPM may have taken longer than a call may.
    return ClusterCalls.limited(leader).registerNode(attested.build());
  }

  private Optional<AttestationEvidence> evidence(
      CuratorBlockingV2Stub leader, RegisterNodeRequest request, EnrolmentKeys keys)
      throws StatusException {
    MachineAttester attester = organs.storage().attester();
    if (!attester.possible()) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          attester.attest(
              keys.node().getPublic(),
              tpm ->
                  ClusterCalls.limited(AttestationGrpc.newBlockingV2Stub(leader.getChannel()))
                      .getAttestationChallenge(
                          GetAttestationChallengeRequest.newBuilder()
                              .setRegisterTicket(request.getRegisterTicket())
                              .setKeys(tpm)
                              .build())));
    } catch (FileException e) {
      // The cluster decides at the approval whether it needs evidence.
      steps.log().warning("this node registers without evidence of its TPM: %s", e.getMessage());
      return Optional.empty();
    } catch (StatusException e) {
      if (e.getStatus().getCode() == Status.Code.UNIMPLEMENTED) {
        steps.log().info("the leader runs an older version, and asks for no evidence of the TPM");
        return Optional.empty();
      }
      throw e;
    }
  }

  private NodeLabels labels(ClusterRegister parameters) {
    NodeLabels.Builder labels = NodeLabels.newBuilder();
    NodeParametersLoader.sanitized(parameters.getLabels(), steps.log())
        .forEach(
            (key, value) ->
                labels.addPairs(NodeLabels.Pair.newBuilder().setKey(key).setValue(value)));
    return labels.build();
  }

  private StorageSecurity chosen(RegisterNodeResponse settings) throws Exception {
    StorageSecurity security =
        SecurityPolicy.security(
            settings.getClusterConfiguration().getStorageSecurityPolicy(),
            organs.storage().preferred());
    organs.storage().require(security);
    return security;
  }

  // ---- commit

  private EnrolmentJournal committed(
      EnrolmentJournal journal,
      EnrolmentKeys keys,
      X509Certificate ca,
      ClusterCalls cluster,
      Progress progress)
      throws InterruptedException {
    if (EnrolmentDisk.reached(journal, Step.STEP_COMMITTED)) {
      return journal;
    }
    progress.reached(ClusterState.FOREIGN, approval(keys));
    NodeCredentials credentials =
        steps.step("approval by an operator", wait -> commit(journal, keys, ca, cluster, wait));
    return disk.committed(journal, credentials);
  }

  /** Says what an operator does, and by which key the node is known. */
  static String approval(EnrolmentKeys keys) {
    return "approve it at a member: polisctl node approve %s --key %s"
        .formatted(keys.id(), Ed25519.fingerprint(keys.node().getPublic()));
  }

  private NodeCredentials commit(
      EnrolmentJournal journal,
      EnrolmentKeys keys,
      X509Certificate ca,
      ClusterCalls cluster,
      Wait wait)
      throws InterruptedException {
    CommitNodeRequest request = request(journal, keys);
    Optional<CommitNodeResponse> answer = Optional.empty();
    while (answer.isEmpty()) {
      wait.detail(approval(keys));
      answer =
          refusable(
              () -> cluster.call(wait, leader -> unlessNew(() -> leader.commitNode(request))));
      if (answer.isEmpty()) {
        Thread.sleep(APPROVAL_PAUSE);
      }
    }
    NodeCredentials credentials =
        new NodeCredentials(
            keys.node().getPrivate(),
            Pem.certificate(answer.get().getNodeCertificate().toByteArray()),
            Pem.certificate(answer.get().getCaCertificate().toByteArray()));
    if (!cluster.authorities().contains(credentials.ca().issuing())) {
      throw new EnrolmentException(
          "the leader issued a certificate of another CA (%s) than the parameters name (%s)"
              .formatted(credentials.ca().issuing().getSerialNumber(), ca.getSerialNumber()));
    }
    wait.done(keys.id().text());
    return credentials;
  }

  private static CommitNodeRequest request(EnrolmentJournal journal, EnrolmentKeys keys) {
    CommitNodeRequest.Builder request =
        CommitNodeRequest.newBuilder().setStorageSecurity(journal.getStorageSecurity());
    if (journal.getStorageSecurity() != NodeStorageSecurity.NODE_STORAGE_SECURITY_INSECURE) {
      request.setClusterUnlockKey(ByteString.copyFrom(keys.unlock().cluster().reveal()));
    }
    return request.build();
  }

  /** Makes one call to the leader. */
  @FunctionalInterface
  private interface Attempt<T> {
    T make() throws StatusException, InterruptedException;
  }

  /** Makes one call that does not block on other things. */
  @FunctionalInterface
  private interface Answer<T> {
    T get() throws StatusException;
  }

  /** Returns the answer to a commit; empty while the node waits for its approval. */
  private static <T> Optional<T> unlessNew(Answer<T> commit) throws StatusException {
    try {
      return Optional.of(commit.get());
    } catch (StatusException e) {
      // The code that the API gives to the commit of a node that is NEW, and to no other refusal
      // of one that time can change.
      if (e.getStatus().getCode() == Status.Code.PERMISSION_DENIED) {
        return Optional.empty();
      }
      throw e;
    }
  }

  private static <T> T refusable(Attempt<T> attempt) throws InterruptedException {
    try {
      return attempt.make();
    } catch (StatusException e) {
      throw new EnrolmentException(
          "the cluster refuses this node: " + e.getStatus().getDescription(), e);
    }
  }
}
