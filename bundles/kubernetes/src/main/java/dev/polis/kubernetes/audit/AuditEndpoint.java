package dev.polis.kubernetes.audit;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.ComputingThreads;
import dev.polis.rpc.RpcException;
import dev.polis.wire.audit.KubernetesAuditGrpc;
import dev.polis.wire.audit.KubernetesAuditRecord;
import dev.polis.wire.audit.ReadKubernetesAuditRequest;
import dev.polis.wire.audit.ReadKubernetesAuditResponse;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** Serves the audit log of this node's API server to operators. */
public final class AuditEndpoint extends KubernetesAuditGrpc.KubernetesAuditImplBase {

  /**
   * The interval of checks for new records: a person sees a record at once, and a check is a few
   * system calls.
   */
  private static final Duration POLL = Duration.ofMillis(500);

  private final Storage storage;
  private final CallStreams streams;
  private final ComputingThreads computing;

  /**
   * Creates an endpoint.
   *
   * @param streams the streams of the calls; their owner closes them
   * @param computing the threads that find the newest records
   */
  public AuditEndpoint(Storage storage, CallStreams streams, ComputingThreads computing) {
    this.storage = storage;
    this.streams = streams;
    this.computing = computing;
  }

  @Override
  public void read(
      ReadKubernetesAuditRequest request, StreamObserver<ReadKubernetesAuditResponse> caller) {
    if (request.getLast() < 0) {
      throw RpcException.invalid(
          "last is %d; give a number that is not negative".formatted(request.getLast()));
    }
    AuditPlace after = place(request.getAfter());
    AuditFiles files = files();
    streams.serve("audit log of Kubernetes", caller, sink -> send(request, after, files, sink));
  }

  private static AuditPlace place(String text) {
    try {
      return AuditPlace.parse(text);
    } catch (IllegalArgumentException wrong) {
      throw RpcException.invalid(wrong.getMessage());
    }
  }

  private AuditFiles files() {
    if (storage.data().peek().orElseThrow() instanceof DataStatus.NotMounted(var reason)) {
      throw RpcException.failedPrecondition(
          "Kubernetes' audit log is on the data volume, which is not mounted: %s; try again when it is"
              .formatted(reason));
    }
    AuditFiles files = new AuditFiles(storage.root().data().organFolder(AuditFiles.FOLDER).path());
    if (!files.exist()) {
      throw RpcException.failedPrecondition(
          "this node has no audit log of Kubernetes, because no API server has run here; ask a"
              + " node with the role KubernetesController, which 'polisctl node list' shows");
    }
    return files;
  }

  private void send(
      ReadKubernetesAuditRequest request,
      AuditPlace after,
      AuditFiles files,
      CallStreams.Sink<ReadKubernetesAuditResponse> sink)
      throws InterruptedException {
    try {
      boolean newest = request.getLast() > 0 && after.equals(AuditPlace.OLDEST);
      AuditCursor cursor = new AuditCursor(files, newest ? newest(files, request) : after);
      while (true) {
        sink.awaitRoom();
        List<AuditCursor.Record> records = cursor.next();
        if (!records.isEmpty()) {
          sink.send(response(records, cursor.place()));
        } else if (request.getFollow()) {
          Thread.sleep(POLL);
        } else {
          return;
        }
      }
    } catch (IOException e) {
      throw unreadable(files, e);
    }
  }

  /** Counts the records of all files, which takes a processor for seconds. */
  private AuditPlace newest(AuditFiles files, ReadKubernetesAuditRequest request)
      throws InterruptedException {
    return computing.run(
        () -> {
          try {
            return files.last(request.getLast());
          } catch (IOException e) {
            throw unreadable(files, e);
          }
        });
  }

  private static RpcException unreadable(AuditFiles files, IOException e) {
    return RpcException.failedPrecondition(
        "the node cannot read Kubernetes' audit log at %s: %s".formatted(files.folder(), e));
  }

  private static ReadKubernetesAuditResponse response(
      List<AuditCursor.Record> records, AuditPlace place) {
    ReadKubernetesAuditResponse.Builder response =
        ReadKubernetesAuditResponse.newBuilder().setPlace(place.toString());
    records.forEach(
        each ->
            response.addRecords(
                KubernetesAuditRecord.newBuilder().setText(each.text()).setCut(each.cut())));
    return response.build();
  }
}
