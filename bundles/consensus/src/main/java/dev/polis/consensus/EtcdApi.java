package dev.polis.consensus;

import com.google.protobuf.UnsafeByteOperations;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusOverview.OperatorFiles;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdRefusedException;
import dev.polis.etcd.EtcdStatus;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcException;
import dev.polis.wire.cluster.Alarm;
import dev.polis.wire.cluster.AlarmsRequest;
import dev.polis.wire.cluster.AlarmsResponse;
import dev.polis.wire.cluster.CredentialHint;
import dev.polis.wire.cluster.DefragmentRequest;
import dev.polis.wire.cluster.DefragmentResponse;
import dev.polis.wire.cluster.DisarmRequest;
import dev.polis.wire.cluster.DisarmResponse;
import dev.polis.wire.cluster.Endpoint;
import dev.polis.wire.cluster.EtcdGrpc;
import dev.polis.wire.cluster.Member;
import dev.polis.wire.cluster.MembersRequest;
import dev.polis.wire.cluster.MembersResponse;
import dev.polis.wire.cluster.SnapshotRequest;
import dev.polis.wire.cluster.SnapshotResponse;
import dev.polis.wire.cluster.StatusRequest;
import dev.polis.wire.cluster.StatusResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.List;

/**
 * Serves the Etcd API to operators. Each node answers through its own member, which needs no
 * quorum.
 */
final class EtcdApi extends EtcdGrpc.EtcdImplBase {

  private static final Duration RETRY = Duration.ofSeconds(1);

  /** Does an operator's order. */
  @FunctionalInterface
  private interface Order<T> {
    T run() throws InterruptedException;
  }

  private final EtcdOperations operations;
  private final CallStreams streams;

  EtcdApi(EtcdOperations operations, CallStreams streams) {
    this.operations = operations;
    this.streams = streams;
  }

  @Override
  public void members(MembersRequest request, StreamObserver<MembersResponse> caller) {
    answer(
        caller,
        () -> {
          MemberSurvey survey = operations.survey();
          MembersResponse.Builder response =
              MembersResponse.newBuilder().setClusterId(survey.clusterId());
          survey.answers().forEach(each -> response.addMembers(member(survey, each)));
          return response.build();
        });
  }

  private static Member member(MemberSurvey survey, MemberSurvey.Answer answer) {
    Member.Builder member =
        Member.newBuilder()
            .setId(answer.member().id())
            .setName(answer.member().name())
            .addAllPeerUrls(answer.member().peerUrls())
            .addAllClientUrls(answer.member().clientUrls())
            .setLearner(answer.member().learner())
            .setLeader(answer.isLeader())
            .setError(answer.error());
    answer
        .status()
        .ifPresent(
            status ->
                member
                    .setRaftTerm(status.raftTerm())
                    .setRaftIndex(status.raftIndex())
                    .setRaftAppliedIndex(status.raftAppliedIndex())
                    .setLag(survey.lag(status)));
    return member.build();
  }

  @Override
  public void status(StatusRequest request, StreamObserver<StatusResponse> caller) {
    answer(
        caller,
        () -> {
          StatusResponse.Builder response =
              StatusResponse.newBuilder().addCredentials(credentials(operations.operatorFiles()));
          List<MemberSurvey.Answer> answers = operations.survey().answers();
          for (MemberSurvey.Answer each : answers) {
            // Another node may have another quota in its configuration.
            long quota = each.equals(answers.getFirst()) ? operations.quota() : 0;
            response.addEndpoints(endpoint(each, quota));
          }
          return response.build();
        });
  }

  private static Endpoint endpoint(MemberSurvey.Answer answer, long quota) {
    Endpoint.Builder endpoint =
        Endpoint.newBuilder()
            .setId(answer.member().id())
            .setUrl(String.join(",", answer.member().clientUrls()))
            .setName(answer.member().name())
            .setLearner(answer.member().learner())
            .setQuota(quota)
            .setError(answer.error());
    answer.status().ifPresent(status -> fill(endpoint, status));
    return endpoint.build();
  }

  private static void fill(Endpoint.Builder endpoint, EtcdStatus status) {
    endpoint
        .setVersion(status.version())
        .setDbSize(status.databaseBytes())
        .setDbSizeInUse(status.databaseBytesInUse())
        .setLeader(status.leaderId())
        .setRevision(status.revision())
        .setRaftTerm(status.raftTerm())
        .setRaftIndex(status.raftIndex())
        .setRaftAppliedIndex(status.raftAppliedIndex())
        .addAllAlarms(status.errors());
  }

  private static CredentialHint credentials(OperatorFiles files) {
    return CredentialHint.newBuilder()
        .setUser(ConsensusUser.ROOT.userName())
        .setCaPath(files.ca())
        .setCertificatePath(files.certificate())
        .setKeyPath(files.key())
        .build();
  }

  @Override
  public void snapshot(SnapshotRequest request, StreamObserver<SnapshotResponse> caller) {
    streams.serve("etcd snapshot", caller, this::send);
  }

  private void send(CallStreams.Sink<SnapshotResponse> sink) throws InterruptedException {
    translated(
        () -> {
          operations.snapshot(
              part ->
                  sink.send(
                      SnapshotResponse.newBuilder()
                          .setDataPart(UnsafeByteOperations.unsafeWrap(part.data()))
                          .setRemainingBytes(part.remaining())
                          .build()));
          return sink;
        });
  }

  @Override
  public void defragment(DefragmentRequest request, StreamObserver<DefragmentResponse> caller) {
    answer(
        caller,
        () -> {
          EtcdOperations.Sizes sizes = operations.defragment(request.getMemberId());
          return DefragmentResponse.newBuilder()
              .setBytesBefore(sizes.before())
              .setBytesAfter(sizes.after())
              .build();
        });
  }

  @Override
  public void alarms(AlarmsRequest request, StreamObserver<AlarmsResponse> caller) {
    answer(
        caller, () -> AlarmsResponse.newBuilder().addAllAlarms(wire(operations.alarms())).build());
  }

  @Override
  public void disarm(DisarmRequest request, StreamObserver<DisarmResponse> caller) {
    answer(
        caller,
        () ->
            DisarmResponse.newBuilder()
                .addAllCleared(wire(operations.disarm(request.getCorrupt())))
                .build());
  }

  private static List<Alarm> wire(List<EtcdOperations.Alarm> alarms) {
    return alarms.stream()
        .map(
            each ->
                Alarm.newBuilder()
                    .setMemberId(each.alarm().memberId())
                    .setMemberName(each.member())
                    .setKind(each.alarm().kind().name())
                    .setRemedy(each.remedy())
                    .build())
        .toList();
  }

  private <T> void answer(StreamObserver<T> caller, Order<T> order) {
    T response;
    try {
      response = translated(order);
    } catch (InterruptedException cancelled) {
      Thread.currentThread().interrupt();
      throw new RpcException(Status.Code.CANCELLED, "the call was cancelled", cancelled);
    }
    caller.onNext(response);
    caller.onCompleted();
  }

  private <T> T translated(Order<T> order) throws InterruptedException {
    try {
      return order.run();
    } catch (ConsensusException refused) {
      throw operations.isStarting()
          ? RpcException.unavailable(refused.getMessage(), RETRY)
          : RpcException.failedPrecondition(refused.getMessage());
    } catch (EtcdRefusedException refused) {
      throw RpcException.failedPrecondition(EtcdOperations.text(refused));
    } catch (EtcdException failed) {
      throw RpcException.unavailable(EtcdOperations.text(failed), RETRY);
    }
  }
}
