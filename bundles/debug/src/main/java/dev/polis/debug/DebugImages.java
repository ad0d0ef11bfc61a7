package dev.polis.debug;

import dev.polis.api.containers.Containers;
import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.ContainersStatus;
import dev.polis.rpc.RpcException;
import io.grpc.Status;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** Loads container images into the node's container runtime, and lists them. Thread-safe. */
final class DebugImages {

  private final boolean open;
  private final Supplier<Optional<Containers>> runtime;

  /**
   * Creates it.
   *
   * @param open true if an operator lets strangers load images
   * @param runtime the container runtime; empty while the organ is absent
   */
  DebugImages(boolean open, Supplier<Optional<Containers>> runtime) {
    this.open = open;
    this.runtime = runtime;
  }

  /**
   * Refuses an unauthenticated caller, unless an operator has switched that on.
   *
   * @throws RpcException FAILED_PRECONDITION, naming the command that uses a certificate
   */
  void requireOpen() {
    if (!open) {
      throw RpcException.failedPrecondition(
          "this is off, because every client that reaches this port could choose the images of"
              + " Pods; use \"polisctl image load\", or start the node with --set"
              + " dev.polis.debug.images=true");
    }
  }

  /**
   * Refuses an archive before its first byte if the runtime does not run.
   *
   * @throws RpcException FAILED_PRECONDITION, naming the state of the runtime
   */
  void requireRunning() {
    ContainersStatus now = found().status().peek().orElseThrow();
    if (!(now instanceof ContainersStatus.Running)) {
      throw RpcException.failedPrecondition(
          now.text() + "; it runs on nodes with the role KubernetesWorker");
    }
  }

  /**
   * Loads the images of an archive, closes the archive in any case, and returns the images' names.
   *
   * @throws RpcException FAILED_PRECONDITION if the runtime does not run or refuses the archive
   */
  List<String> load(InputStream archive) throws InterruptedException {
    try (archive) {
      return found().load(archive);
    } catch (ContainersException refused) {
      throw refusal(refused);
    } catch (IOException broken) {
      throw new RpcException(
          Status.Code.ABORTED,
          "the node did not load the images: %s; send the archive again"
              .formatted(broken.getMessage()),
          broken);
    }
  }

  /**
   * Returns the sorted names of the images.
   *
   * @throws RpcException FAILED_PRECONDITION if the runtime does not run
   */
  List<String> list() {
    try {
      return found().images();
    } catch (ContainersException refused) {
      throw refusal(refused);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new RpcException(Status.Code.CANCELLED, "the call has ended", stopped);
    }
  }

  private static RpcException refusal(ContainersException refused) {
    return new RpcException(Status.Code.FAILED_PRECONDITION, refused.getMessage(), refused);
  }

  private Containers found() {
    return runtime
        .get()
        .orElseThrow(
            () ->
                RpcException.failedPrecondition(
                    "there is no image store: the organ 'containers' does not run on this node;"
                        + " 'polisctl explain containers' says why"));
  }
}
