package dev.polis.management;

import dev.polis.base.boot.BootReport;
import dev.polis.logtree.Log;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcPeer;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * Requests a power-off or a new process from the launcher, after the answer to the caller was sent.
 * Thread-safe.
 */
final class PowerRequest {
  private final BootReport boot;
  private final Log log;
  private final AtomicBoolean asked = new AtomicBoolean();

  PowerRequest(BootReport boot, Log log) {
    this.boot = boot;
    this.log = log;
  }

  /**
   * Refuses a power-off after which no key opens the data volume.
   *
   * @throws RpcException FAILED_PRECONDITION, with the remedy
   */
  void requireNoLockOut() {
    boot.lockOut()
        .ifPresent(
            reason -> {
              throw RpcException.failedPrecondition("not powered off: " + reason);
            });
  }

  /**
   * Powers off when this call ends: the answer was sent, or the caller has left, which does not
   * revoke the request. The handler calls it before its answer.
   */
  void offAfter(ServerCallStreamObserver<?> call) {
    after(call, "powering off", boot::powerOff);
  }

  /** Replaces the process when this call ends, as {@link #offAfter} powers off. */
  void restartAfter(ServerCallStreamObserver<?> call) {
    after(call, "restarting the process", boot::restart);
  }

  private void after(ServerCallStreamObserver<?> call, String what, Consumer<String> ending) {
    String reason = "asked for by " + RpcPeer.current().describe();
    Runnable end =
        () -> {
          if (asked.compareAndSet(false, true)) {
            log.warning("%s, %s", what, reason);
            ending.accept(reason);
          }
        };
    call.setOnCloseHandler(end);
    call.setOnCancelHandler(end);
  }
}
