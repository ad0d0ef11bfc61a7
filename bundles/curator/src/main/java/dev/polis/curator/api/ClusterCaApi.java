package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Fingerprint;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiAuthority;
import dev.polis.pki.PkiAuthority.Succession;
import dev.polis.pki.PkiConflictException;
import dev.polis.pki.PkiException;
import dev.polis.wire.cluster.CaStatus;
import dev.polis.wire.cluster.CaStep;
import dev.polis.wire.cluster.ClusterCaGrpc;
import dev.polis.wire.cluster.GetCaRequest;
import dev.polis.wire.cluster.GetEtcdCaRequest;
import dev.polis.wire.cluster.Operator;
import dev.polis.wire.cluster.RetireCaRequest;
import dev.polis.wire.cluster.RetireEtcdCaRequest;
import dev.polis.wire.cluster.RotateCaRequest;
import dev.polis.wire.cluster.RotateEtcdCaRequest;
import dev.polis.wire.curator.stored.Node;
import io.grpc.stub.StreamObserver;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Serves the ClusterCa API: replaces the cluster's CA, and etcd's. The records of the CA say how
 * far a rotation is, and each step is one transaction, so a call that is repeated after a crash, or
 * at another leader, continues the same rotation.
 */
public final class ClusterCaApi extends ClusterCaGrpc.ClusterCaImplBase {

  private final LeaderGate gate;
  private final EtcdCa etcd;

  /**
   * @param etcd replaces the CA of etcd
   */
  public ClusterCaApi(LeaderGate gate, EtcdCa etcd) {
    this.gate = gate;
    this.etcd = etcd;
  }

  @Override
  public void getEtcdCa(GetEtcdCaRequest request, StreamObserver<CaStatus> caller) {
    ApiCalls.unary(gate, caller, etcd::status);
  }

  @Override
  public void rotateEtcdCa(RotateEtcdCaRequest request, StreamObserver<CaStatus> caller) {
    ApiCalls.unary(gate, caller, etcd::rotate);
  }

  @Override
  public void retireEtcdCa(RetireEtcdCaRequest request, StreamObserver<CaStatus> caller) {
    ApiCalls.unary(gate, caller, etcd::retire);
  }

  @Override
  public void getCa(GetCaRequest request, StreamObserver<CaStatus> caller) {
    ApiCalls.unary(gate, caller, ClusterCaApi::status);
  }

  @Override
  public void rotateCa(RotateCaRequest request, StreamObserver<CaStatus> caller) {
    ApiCalls.unary(gate, caller, term -> rotate(term, request.getForce()));
  }

  private static CaStatus rotate(LeaderTerm term, boolean force) throws InterruptedException {
    CaStatus now = status(term);
    try {
      switch (now.getStep()) {
        case CA_STEP_ONE -> term.pki().authority().prepareSuccessor();
        case CA_STEP_PREPARED -> {
          if (!force && now.getWaitingNodesCount() > 0) {
            return now;
          }
          term.pki().authority().succeed();
        }
        case CA_STEP_ISSUING, CA_STEP_UNSPECIFIED, UNRECOGNIZED -> {
          return now;
        }
      }
    } catch (PkiConflictException busy) {
      throw busy;
    } catch (PkiException overtaken) {
      CaStatus after = status(term);
      if (after.getStep() == now.getStep()) {
        throw overtaken;
      }
      // Another call has made this step meanwhile.
      return after;
    }
    return status(term);
  }

  @Override
  public void retireCa(RetireCaRequest request, StreamObserver<CaStatus> caller) {
    ApiCalls.unary(gate, caller, term -> retire(term, request.getForce()));
  }

  private static CaStatus retire(LeaderTerm term, boolean force) throws InterruptedException {
    CaStatus now = status(term);
    if (now.getStep() == CaStep.CA_STEP_PREPARED) {
      throw Refusal.precondition(
          "the new CA does not issue certificates yet, so the present one cannot be retired; continue"
              + " the rotation: polisctl ca rotate");
    }
    if (!force && now.getWaitingNodesCount() > 0) {
      throw Refusal.precondition(
          "these nodes have a certificate of the former CA: %s; start those that are off and repeat"
              + " the command; of a node that is gone remove the record (polisctl node delete), or"
              + " use --force: a node that comes back later gets a certificate with its join key",
          String.join(", ", now.getWaitingNodesList()));
    }
    term.pki().authority().retireFormer();
    return status(term);
  }

  private static CaStatus status(LeaderTerm term) throws InterruptedException {
    PkiAuthority authority = term.pki().authority();
    var status = CaStatus.newBuilder().setIssuing(der(authority.certificate()));
    return switch (authority.succession()) {
      case Succession.None _ -> status.setStep(CaStep.CA_STEP_ONE).build();
      case Succession.Prepared(X509Certificate next) -> {
        String wanted = fingerprint(next);
        yield status
            .setStep(CaStep.CA_STEP_PREPARED)
            .setOther(der(next))
            .addAllWaitingNodes(waiting(term, trusted -> !trusted.contains(wanted)))
            .build();
      }
      case Succession.Issuing(X509Certificate former) -> {
        String wanted = fingerprint(authority.certificate());
        yield status
            .setStep(CaStep.CA_STEP_ISSUING)
            .setOther(der(former))
            // The first one is that of the node's own certificate.
            .addAllWaitingNodes(waiting(term, trusted -> trusted.indexOf(wanted) != 0))
            .addAllWaitingUsers(waitingUsers(term, authority))
            .build();
      }
    };
  }

  /** Returns the members whose last report lacks something. */
  private static List<String> waiting(LeaderTerm term, Predicate<List<String>> lacks)
      throws InterruptedException {
    return term.records().nodes().stream()
        .filter(node -> NodeRecords.isUp(node) && lacks.test(node.getStatus().getTrustedCasList()))
        .map(Node::getId)
        .toList();
  }

  private static List<String> waitingUsers(LeaderTerm term, PkiAuthority authority)
      throws InterruptedException {
    CaBundle present = CaBundle.of(authority.certificate());
    List<String> users =
        Stream.concat(
                Stream.of(AaaApi.OWNER),
                term.records().operators().getOperatorsList().stream().map(Operator::getName))
            .toList();
    List<String> waiting = new ArrayList<>();
    for (String user : users) {
      if (authority.find(user).filter(newest -> !present.issued(newest)).isPresent()) {
        waiting.add(user);
      }
    }
    return waiting;
  }

  private static String fingerprint(X509Certificate ca) {
    return Fingerprint.of(ca).hex();
  }

  private static ByteString der(X509Certificate certificate) {
    return ByteString.copyFrom(Pem.der(certificate));
  }
}
