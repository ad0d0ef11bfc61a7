package dev.polis.curator.api;

import com.google.protobuf.Timestamp;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.cluster.AddOperatorRequest;
import dev.polis.wire.cluster.AddOperatorResponse;
import dev.polis.wire.cluster.ListOperatorsRequest;
import dev.polis.wire.cluster.ListOperatorsResponse;
import dev.polis.wire.cluster.Operator;
import dev.polis.wire.cluster.OperatorList;
import dev.polis.wire.cluster.OperatorsGrpc;
import dev.polis.wire.cluster.RemoveOperatorRequest;
import dev.polis.wire.cluster.RemoveOperatorResponse;
import dev.polis.wire.cluster.SetOperatorRoleRequest;
import dev.polis.wire.cluster.SetOperatorRoleResponse;
import dev.polis.wire.curator.stored.InitialOwner;
import io.grpc.stub.StreamObserver;
import java.time.InstantSource;

/**
 * Serves the Operators API, for the owner: the people and programs with a role. A change of the
 * record decides at each node, since each curator follows the record. The removal also revokes the
 * operator's certificates. It revokes them after the change of the record, because a certificate is
 * issued only in a transaction that requires the operator in the record: so none comes later.
 */
public final class OperatorsApi extends OperatorsGrpc.OperatorsImplBase {

  private final LeaderGate gate;
  private final InstantSource clock;

  public OperatorsApi(LeaderGate gate, InstantSource clock) {
    this.gate = gate;
    this.clock = clock;
  }

  @Override
  public void listOperators(
      ListOperatorsRequest request, StreamObserver<ListOperatorsResponse> caller) {
    ApiCalls.unary(
        gate,
        caller,
        term ->
            ListOperatorsResponse.newBuilder()
                .addAllOperators(term.records().operators().getOperatorsList())
                .build());
  }

  @Override
  public void addOperator(AddOperatorRequest request, StreamObserver<AddOperatorResponse> caller) {
    OperatorRules.check(request.getName(), request.getPublicKey(), request.getRole());
    Operator added =
        Operator.newBuilder()
            .setName(request.getName())
            .setPublicKey(request.getPublicKey())
            .setRole(request.getRole())
            .setSince(now())
            .setBy(RpcPeer.current().describe())
            .build();
    ApiCalls.unary(gate, caller, term -> add(term, added));
  }

  private static AddOperatorResponse add(LeaderTerm term, Operator added)
      throws InterruptedException {
    InitialOwner owner = term.records().owner();
    if (OperatorRules.find(term.records().operators(), added.getName()).isEmpty()) {
      // Ends the certificates of a former operator of this name, whose removal was interrupted.
      term.pki().removeUser(added.getName());
    }
    return term.records()
        .updateOperators(
            present -> OperatorRules.with(present, owner, added),
            record ->
                AddOperatorResponse.newBuilder()
                    .setOperator(OperatorRules.require(record, added.getName()))
                    .build());
  }

  private Timestamp now() {
    return Timestamp.newBuilder().setSeconds(clock.instant().getEpochSecond()).build();
  }

  @Override
  public void setOperatorRole(
      SetOperatorRoleRequest request, StreamObserver<SetOperatorRoleResponse> caller) {
    OperatorRules.checkRole(request.getRole());
    String by = RpcPeer.current().describe();
    Timestamp since = now();
    ApiCalls.unary(
        gate,
        caller,
        term ->
            term.records()
                .updateOperators(
                    present ->
                        OperatorRules.withRole(
                            present, request.getName(), request.getRole(), since, by),
                    record ->
                        SetOperatorRoleResponse.newBuilder()
                            .setOperator(OperatorRules.require(record, request.getName()))
                            .build()));
  }

  @Override
  public void removeOperator(
      RemoveOperatorRequest request, StreamObserver<RemoveOperatorResponse> caller) {
    ApiCalls.unary(gate, caller, term -> remove(term, request.getName()));
  }

  private static RemoveOperatorResponse remove(LeaderTerm term, String name)
      throws InterruptedException {
    OperatorList before = term.records().operators();
    boolean known = OperatorRules.find(before, name).isPresent();
    boolean certified = OperatorRules.isName(name) && term.pki().hasUser(name);
    if (!known && !certified) {
      throw OperatorRules.unknown(before, name);
    }
    if (!certified) {
      RemoveOperatorResponse removed =
          term.records()
              .updateOperators(present -> OperatorRules.without(present, name), _ -> revoked(0));
      // One may have been issued since the check.
      term.pki().removeUser(name);
      return removed;
    }
    if (known) {
      // Without a record, only the certificates of an interrupted removal are left to revoke.
      term.records().updateOperators(present -> OperatorRules.without(present, name));
    }
    return revoked(
        term.pki()
            .removeUser(
                name,
                count ->
                    (conditions, others) ->
                        term.records()
                            .withOperators(present -> {}, conditions, others, revoked(count))));
  }

  private static RemoveOperatorResponse revoked(int certificates) {
    return RemoveOperatorResponse.newBuilder().setRevoked(certificates).build();
  }
}
