package dev.polis.kubernetes.worker;

import com.google.protobuf.ByteString;
import dev.polis.base.backoff.Backoff;
import dev.polis.base.values.MutableValue;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.pki.Ed25519;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.IssueCertificateRequest;
import dev.polis.wire.curator.IssueCertificateResponse;
import io.grpc.StatusException;
import java.io.IOException;
import java.security.PrivateKey;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Gets certificates for the keys of the worker's programs from the curator, writes them to files,
 * and renews them in time.
 */
final class CertificateTask implements Task {

  private static final String NO_CERTIFICATES = "no-worker-certificates";

  /** The condition of valid certificates that the node cannot renew now. */
  private static final String NOT_RENEWED = "worker-certificates-not-renewed";

  /** The seconds after which an unanswered call is repeated. */
  private static final long CALL_SECONDS = 10;

  /**
   * The interval of checks: a due certificate stays valid for days, but a clock may be set forward.
   */
  private static final Duration CHECK = Duration.ofMinutes(1);

  private final LeaderConnection connection;
  private final WorkerPlan plan;
  private final WorkerFiles files;
  private final HealthScope health;
  private final MutableValue<WorkerCredentials> credentials;
  private final InstantSource clock;

  CertificateTask(
      LeaderConnection connection,
      WorkerPlan plan,
      WorkerFiles files,
      HealthScope health,
      MutableValue<WorkerCredentials> credentials,
      InstantSource clock) {
    this.connection = connection;
    this.plan = plan;
    this.files = files;
    this.health = health;
    this.credentials = credentials;
    this.clock = clock;
  }

  @Override
  public void run(Context context) throws InterruptedException, IOException {
    WorkerKeys keys = WorkerKeys.ensure(files);
    Optional<WorkerCertificates> stored =
        WorkerCertificates.read(files)
            .filter(certificates -> certificates.match(keys, plan.addresses().worker()));
    stored.ifPresent(certificates -> credentials.set(new WorkerCredentials(keys, certificates)));
    context.healthy();
    WorkerCertificates present = stored.isPresent() ? stored.get() : renew(context, keys);
    while (true) {
      if (present.due(clock.instant())) {
        present = renew(context, keys);
      }
      Thread.sleep(CHECK);
    }
  }

  private WorkerCertificates renew(Context context, WorkerKeys keys)
      throws InterruptedException, IOException {
    WorkerCertificates issued = fetch(context, keys);
    WorkerCredentials renewed = new WorkerCredentials(keys, issued);
    renewed.write(files);
    credentials.set(renewed);
    // A program that started meanwhile may have written the former ones.
    renewed.write(files);
    context.log().info("The curator has issued the certificates of the worker's programs.");
    return issued;
  }

  private WorkerCertificates fetch(Context context, WorkerKeys keys) throws InterruptedException {
    Backoff backoff = connection.backoff();
    while (true) {
      try {
        WorkerCertificates issued = WorkerCertificates.of(ask(keys));
        health.clear(NO_CERTIFICATES);
        health.clear(NOT_RENEWED);
        return issued;
      } catch (StatusException e) {
        String reason = "the curator issues no certificates: " + e.getStatus().getDescription();
        context.log().warning("%s", reason);
        health.set(condition(reason));
        backoff.pause();
      }
    }
  }

  private HealthCondition condition(String reason) {
    return credentials
        .peek()
        .map(
            present ->
                HealthCondition.degraded(
                    NOT_RENEWED,
                    "%s; the first of the present certificates ends at %s"
                        .formatted(reason, present.certificates().firstEnd()),
                    "repair that before then; the node keeps trying"))
        .orElseGet(() -> HealthCondition.waiting(NO_CERTIFICATES, reason));
  }

  private IssueCertificateResponse.KubernetesWorker ask(WorkerKeys keys)
      throws StatusException, InterruptedException {
    var worker =
        IssueCertificateRequest.KubernetesWorker.newBuilder()
            .setKubeletPubkey(raw(keys.kubelet()))
            .setCsiProvisionerPubkey(raw(keys.provisioner()))
            .setNetservicesPubkey(raw(keys.netservices()));
    if (plan.addresses().derived()) {
      worker.setWorkerAddress(plan.addresses().worker().getHostAddress());
    }
    return CuratorGrpc.newBlockingV2Stub(connection.channel())
        .withWaitForReady()
        .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
        .issueCertificate(IssueCertificateRequest.newBuilder().setKubernetesWorker(worker).build())
        .getKubernetesWorker();
  }

  private static ByteString raw(PrivateKey key) {
    return ByteString.copyFrom(Ed25519.raw(Ed25519.publicKey(key)));
  }
}
