package dev.polis.cluster;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorException;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.RecoveryShareStore;
import dev.polis.api.storage.Storage;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.values.Value;
import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.logtree.Log;
import dev.polis.logtree.Secret;
import dev.polis.pki.NodeCredentials;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.recovery.EnrollRequest;
import dev.polis.wire.recovery.EnrollResponse;
import dev.polis.wire.recovery.GetShareRequest;
import dev.polis.wire.recovery.GetShareResponse;
import dev.polis.wire.recovery.RecoveryGrpc;
import dev.polis.wire.storage.RecoveryShare;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Serves the recovery share of this node to its owner, and seals a new one to another key.
 *
 * <pre>
 *   owner: new X25519 key pair ──public key──▶ Enroll ──▶ cluster's half from the node's record
 *                                                         └──sealed──▶ recovery share on esp/
 * </pre>
 *
 * <p>It replaces the whole share: a crash leaves either the former or the new one.
 */
final class RecoveryService extends RecoveryGrpc.RecoveryImplBase {

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final Storage storage;
  private final Curator curator;
  private final Value<ClusterStatus> cluster;
  private final Log log;

  /** The lock of the share, which one call at a time writes. */
  private final ReentrantLock writing = new ReentrantLock();

  RecoveryService(Storage storage, Curator curator, Value<ClusterStatus> cluster, Log log) {
    this.storage = storage;
    this.curator = curator;
    this.cluster = cluster;
    this.log = log;
  }

  @Override
  public void getShare(GetShareRequest request, StreamObserver<GetShareResponse> caller) {
    GetShareResponse.Builder response =
        GetShareResponse.newBuilder()
            .setNodeId(credentials().id().text())
            .setStorageSecurity(mounted().security().wire());
    if (storage.recoveryShare().read()
        instanceof Stored.Present<RecoveryShare>(var path, var share)) {
      response.setShare(share);
    }
    caller.onNext(response.build());
    caller.onCompleted();
  }

  @Override
  public void enroll(EnrollRequest request, StreamObserver<EnrollResponse> caller) {
    ByteString key = request.getRecoveryPublicKey();
    if (key.size() != RecoveryShareStore.KEY_LENGTH) {
      throw RpcException.invalid(
          "recovery_public_key has %d bytes; an X25519 public key has %d"
              .formatted(key.size(), RecoveryShareStore.KEY_LENGTH));
    }
    if (mounted().security() == StorageSecurity.INSECURE) {
      throw RpcException.failedPrecondition(
          "the data volume is INSECURE: it is not encrypted and needs no recovery key");
    }
    NodeCredentials credentials = credentials();
    RecoveryShare share = sealed(credentials, key.toByteArray());
    logEnrolment(key);
    caller.onNext(
        EnrollResponse.newBuilder().setNodeId(credentials.id().text()).setShare(share).build());
    caller.onCompleted();
  }

  private void logEnrolment(ByteString key) {
    log.warning(
        "from now on only the recovery key %s opens the data volume, and no former one; %s enrolled it",
        HexFormat.of().formatHex(key.toByteArray()), RpcPeer.current().describe());
  }

  private RecoveryShare sealed(NodeCredentials credentials, byte[] key) {
    try {
      writing.lockInterruptibly();
      try (Secret half = curator.clusterUnlockKey(credentials)) {
        storage.recoveryShare().seal(half, key);
        return storage.recoveryShare().read().orThrow();
      } finally {
        writing.unlock();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new RpcException(Status.Code.CANCELLED, "the call was cancelled", e);
    } catch (CuratorException e) {
      throw RpcException.unavailable(e.getMessage(), RETRY);
    } catch (StorageException e) {
      throw RpcException.invalid(e.getMessage());
    } catch (FileException e) {
      throw new RpcException(Status.Code.INTERNAL, e.getMessage(), e);
    }
  }

  private DataStatus.Mounted mounted() {
    return switch (storage.data().peek().orElseThrow()) {
      case DataStatus.Mounted mounted -> mounted;
      case DataStatus.NotMounted(String reason) ->
          throw RpcException.unavailable("the data volume is not mounted: " + reason, RETRY);
    };
  }

  private NodeCredentials credentials() {
    return cluster
        .peek()
        .flatMap(ClusterStatus::credentials)
        .orElseThrow(
            () -> RpcException.unavailable("this node is not a member of its cluster yet", RETRY));
  }
}
