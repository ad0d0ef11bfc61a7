package dev.polis.management;

import com.google.protobuf.Timestamp;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.ComputingThreads;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.audit.AuditCursor;
import dev.polis.rpc.audit.AuditFolder;
import dev.polis.rpc.audit.AuditLog;
import dev.polis.rpc.audit.AuditMark;
import dev.polis.rpc.audit.AuditRecord;
import dev.polis.rpc.audit.AuditStatus;
import dev.polis.wire.audit.AuditEntry;
import dev.polis.wire.audit.AuditFault;
import dev.polis.wire.audit.AuditGrpc;
import dev.polis.wire.audit.ReadAuditRequest;
import dev.polis.wire.audit.ReadAuditResponse;
import dev.polis.wire.audit.VerifyAuditRequest;
import dev.polis.wire.audit.VerifyAuditResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Serves the audit log of this node to operators. */
final class AuditEndpoint extends AuditGrpc.AuditImplBase {
  /**
   * The records of a response: a record has at most 20 KiB, and a client accepts responses of 4
   * MiB.
   */
  private static final int CHUNK = 100;

  private final AuditLog log;
  private final CallStreams streams;
  private final ComputingThreads computing;

  AuditEndpoint(AuditLog log, CallStreams streams, ComputingThreads computing) {
    this.log = log;
    this.streams = streams;
    this.computing = computing;
  }

  @Override
  public void read(ReadAuditRequest request, StreamObserver<ReadAuditResponse> caller) {
    if (request.getLast() < 0 || request.getAfter() < 0) {
      throw RpcException.invalid(
          "last is %d and after is %d; give numbers that are not negative"
              .formatted(request.getLast(), request.getAfter()));
    }
    AuditFolder folder = folder();
    streams.serve("audit log", caller, sink -> send(request, folder, sink));
  }

  private void send(
      ReadAuditRequest request, AuditFolder folder, CallStreams.Sink<ReadAuditResponse> sink)
      throws InterruptedException {
    long end = log.confirmed();
    long after =
        request.getLast() == 0
            ? request.getAfter()
            : Math.max(request.getAfter(), end - request.getLast());
    AuditCursor cursor = new AuditCursor(folder, after);
    long first = end;
    // The earlier records of a file occupy a processor for a second.
    List<AuditCursor.Entry> entries = computing.run(() -> next(cursor, first, folder));
    while (true) {
      if (!entries.isEmpty()) {
        sink.send(response(entries));
      } else if (!request.getFollow()) {
        return;
      } else {
        end = log.awaitAfter(end);
      }
      entries = next(cursor, end, folder);
    }
  }

  private static List<AuditCursor.Entry> next(AuditCursor cursor, long end, AuditFolder folder) {
    try {
      return cursor.next(end, CHUNK);
    } catch (IOException e) {
      throw unreadable(folder, e);
    }
  }

  private static ReadAuditResponse response(List<AuditCursor.Entry> entries) {
    ReadAuditResponse.Builder response = ReadAuditResponse.newBuilder();
    entries.forEach(entry -> response.addEntries(wire(entry)));
    return response.build();
  }

  private static AuditEntry wire(AuditCursor.Entry entry) {
    AuditRecord record = entry.record();
    return AuditEntry.newBuilder()
        .setSequence(record.mark().sequence())
        .setHash(record.mark().hash())
        .setTime(
            Timestamp.newBuilder()
                .setSeconds(record.time().getEpochSecond())
                .setNanos(record.time().getNano()))
        .setKind(record.kind().name())
        .setCall(record.call())
        .setPeer(record.peer())
        .setMethod(record.method())
        .setText(record.text())
        .setBroken(entry.broken())
        .build();
  }

  @Override
  public void verify(VerifyAuditRequest request, StreamObserver<VerifyAuditResponse> caller) {
    Optional<AuditMark> expected =
        request.getExpected().isEmpty()
            ? Optional.empty()
            : Optional.of(AuditMark.parse(request.getExpected()));
    AuditFolder folder = folder();
    try {
      // A full log has 64 MiB, whose check occupies a processor for seconds.
      caller.onNext(wire(computing.run(() -> verify(folder, expected))));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new RpcException(Status.Code.CANCELLED, "the call was cancelled", e);
    }
    caller.onCompleted();
  }

  private AuditFolder.Verdict verify(AuditFolder folder, Optional<AuditMark> expected)
      throws InterruptedException {
    try {
      return folder.verify(log.confirmed(), expected);
    } catch (IOException e) {
      throw unreadable(folder, e);
    }
  }

  private static VerifyAuditResponse wire(AuditFolder.Verdict verdict) {
    VerifyAuditResponse.Builder response =
        VerifyAuditResponse.newBuilder()
            .setFiles(verdict.files())
            .setRecords(verdict.records())
            .setFirst(verdict.first())
            .setLast(verdict.last().toString());
    verdict
        .faults()
        .forEach(
            fault ->
                response.addFaults(
                    AuditFault.newBuilder()
                        .setFile(fault.file())
                        .setLine(fault.line())
                        .setReason(fault.reason())));
    return response.build();
  }

  private AuditFolder folder() {
    return log.folder().orElseThrow(this::closed);
  }

  private RpcException closed() {
    return switch (log.status().peek().orElseThrow()) {
      case AuditStatus.Failing(Path folder, String reason) ->
          RpcException.failedPrecondition(
              "the node cannot open the audit log at %s: %s".formatted(folder, reason));
      default ->
          RpcException.failedPrecondition(
              "the audit log is on the data volume, which is not mounted; try again when it is");
    };
  }

  private static RpcException unreadable(AuditFolder folder, IOException e) {
    return RpcException.failedPrecondition(
        "the node cannot read the audit log at %s: %s".formatted(folder.path(), e));
  }
}
