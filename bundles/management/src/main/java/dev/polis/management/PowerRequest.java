package dev.polis.management;

import dev.polis.boot.BootReport;
import dev.polis.logtree.Log;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcPeer;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.concurrent.atomic.AtomicBoolean;

/** Asks the launcher for a power off, once the answer to the caller is out. Safe for any thread. */
final class PowerRequest {
  private final BootReport boot;
  private final Log log;
  private final AtomicBoolean asked = new AtomicBoolean();

  PowerRequest(BootReport boot, Log log) {
    this.boot = boot;
    this.log = log;
  }

  /**
   * Refuses a power-off after which nothing opens the data volume.
   *
   * @throws RpcException FAILED_PRECONDITION, with what to do first
   */
  void requireNoLockOut() {
    boot.lockOut()
        .ifPresent(
            reason -> {
              throw RpcException.failedPrecondition("not powered off: " + reason);
            });
  }

  /**
   * Powers off when this call is over: its answer was sent, or its caller has gone, which does not
   * take back what it asked for. To be called by the handler before it answers.
   */
  void offAfter(ServerCallStreamObserver<?> call) {
    String reason = "asked for by " + RpcPeer.current().describe();
    Runnable off = () -> off(reason);
    call.setOnCloseHandler(off);
    call.setOnCancelHandler(off);
  }

  private void off(String reason) {
    if (asked.compareAndSet(false, true)) {
      log.warning("powering off, %s", reason);
      boot.powerOff(reason);
    }
  }
}
