package dev.polis.management;

import dev.polis.boot.BootReport;
import dev.polis.logtree.Log;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcPeer;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * Asks the launcher for a power off or a new process, once the answer to the caller is out. Safe
 * for any thread.
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
    after(call, "powering off", boot::powerOff);
  }

  /** Replaces the process when this call is over, as {@link #offAfter} powers off. */
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
