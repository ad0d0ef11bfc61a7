package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.api.consensus.CaReports;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusCa;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.Refusal;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyPrefix;
import dev.polis.pki.Pem;
import dev.polis.rpc.RpcException;
import dev.polis.wire.cluster.CaStatus;
import dev.polis.wire.cluster.CaStep;
import dev.polis.wire.curator.stored.Node;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Replaces the CA of etcd: asks consensus for each step, and waits with the next one for the API
 * servers, too, which are clients of etcd that read its CAs only at their start.
 */
public final class EtcdCa {

  private static final Duration RETRY = Duration.ofSeconds(1);

  private static final KeyPrefix API_SERVERS = KeyPrefix.of(KubernetesNames.ETCD_TRUST_PREFIX);

  /** Makes a step. */
  @FunctionalInterface
  private interface Step {
    ConsensusCa make() throws InterruptedException;
  }

  private final Consensus consensus;
  private final Supplier<EtcdClient> kubernetes;

  /**
   * @param kubernetes opens a client of the namespace of Kubernetes; closed after each call
   */
  public EtcdCa(Consensus consensus, Supplier<EtcdClient> kubernetes) {
    this.consensus = consensus;
    this.kubernetes = kubernetes;
  }

  CaStatus status(LeaderTerm term) throws InterruptedException {
    return status(term, consensus::ca);
  }

  /** Makes the next step of a rotation, unless a node waits for the present one. */
  CaStatus rotate(LeaderTerm term) throws InterruptedException {
    CaStatus now = status(term);
    return now.getWaitingNodesCount() > 0 ? now : status(term, consensus::rotateCa);
  }

  CaStatus retire(LeaderTerm term) throws InterruptedException {
    CaStatus now = status(term);
    if (now.getStep() == CaStep.CA_STEP_PREPARED) {
      throw Refusal.precondition(
          "the new CA of etcd does not issue certificates yet, so the present one cannot be retired;"
              + " continue the rotation: polisctl ca rotate --of etcd");
    }
    if (now.getStep() == CaStep.CA_STEP_ISSUING && now.getWaitingNodesCount() > 0) {
      throw Refusal.precondition(
          "these nodes have a certificate of etcd's former CA: %s; start those that are off and repeat"
              + " the command; of a node that is gone take the role away (polisctl node role remove"
              + " NODE KubernetesController ConsensusMember)",
          String.join(", ", now.getWaitingNodesList()));
    }
    return status(term, consensus::retireCa);
  }

  private CaStatus status(LeaderTerm term, Step step) throws InterruptedException {
    try {
      ConsensusCa ca = step.make();
      Set<String> waiting = new TreeSet<>(ca.waiting());
      waiting.addAll(waitingApiServers(term, ca));
      return CaStatus.newBuilder()
          .setStep(wire(ca.step()))
          .setIssuing(ByteString.copyFrom(Pem.der(ca.issuing())))
          .setOther(ca.other().map(Pem::der).map(ByteString::copyFrom).orElse(ByteString.EMPTY))
          .addAllWaitingNodes(waiting)
          .build();
    } catch (ConsensusException notNow) {
      throw RpcException.unavailable(notNow.getMessage(), RETRY);
    }
  }

  private static CaStep wire(ConsensusCa.Step step) {
    return switch (step) {
      case ONE -> CaStep.CA_STEP_ONE;
      case PREPARED -> CaStep.CA_STEP_PREPARED;
      case ISSUING -> CaStep.CA_STEP_ISSUING;
    };
  }

  /**
   * Returns the controllers whose API server has not reached the step. A controller that never
   * reported has had no API server; one that starts takes the present CAs.
   */
  private Set<String> waitingApiServers(LeaderTerm term, ConsensusCa ca)
      throws InterruptedException {
    Set<String> controllers =
        term.records().nodes().stream()
            .filter(node -> NodeRecords.isUp(node) && node.getRoles().hasKubernetesController())
            .map(Node::getId)
            .collect(Collectors.toCollection(TreeSet::new));
    if (controllers.isEmpty()) {
      return controllers;
    }
    try (EtcdClient client = kubernetes.get()) {
      Map<String, List<String>> reports = new CaReports(client.kv(), API_SERVERS).all();
      controllers.retainAll(reports.keySet());
      controllers.removeIf(each -> ca.isReached(reports.get(each)));
      return controllers;
    }
  }
}
