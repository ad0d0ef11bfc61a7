package dev.polis.storage.slots;

import dev.polis.base.boot.BootReport;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.CallUpload;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.system.GetSystemRequest;
import dev.polis.wire.system.GetSystemResponse;
import dev.polis.wire.system.InstallChoice;
import dev.polis.wire.system.InstallRequest;
import dev.polis.wire.system.InstallResponse;
import dev.polis.wire.system.NodeSystemGrpc;
import dev.polis.wire.system.RebootSystemRequest;
import dev.polis.wire.system.RebootSystemResponse;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.InputStream;
import java.io.PushbackInputStream;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;

/** Shows and reboots the system of this machine for operators, and updates it for the owner. */
public final class SystemEndpoint extends NodeSystemGrpc.NodeSystemImplBase {

  private static final String OTHERWISE =
      "replace its bundles, or start it from a newer distribution";

  private final Slots slotsOrNull;
  private final BootReport boot;
  private final CallStreams streams;
  private final Semaphore one = new Semaphore(1);

  /**
   * @param slots empty on a machine that no image of Polis has booted
   */
  public SystemEndpoint(Optional<Slots> slots, BootReport boot, CallStreams streams) {
    this.slotsOrNull = slots.orElse(null);
    this.boot = boot;
    this.streams = streams;
  }

  private Slots required(String remedy) {
    return Optional.ofNullable(slotsOrNull)
        .orElseThrow(
            () ->
                RpcException.failedPrecondition(
                    "this node has no slots: it runs as a process on a system that others maintain; "
                        + remedy));
  }

  @Override
  public void getSystem(GetSystemRequest request, StreamObserver<GetSystemResponse> caller) {
    try {
      caller.onNext(required(OTHERWISE).describe());
      caller.onCompleted();
    } catch (IOException e) {
      throw RpcException.failedPrecondition("the slots cannot be read: " + e.getMessage());
    }
  }

  @Override
  public StreamObserver<InstallRequest> install(StreamObserver<InstallResponse> caller) {
    Slots here = required(OTHERWISE);
    AtomicReference<InstallChoice> choice = new AtomicReference<>();
    CallUpload<InstallRequest> upload =
        new CallUpload<>(
            part -> {
              choice.compareAndSet(null, part.getChoice());
              return part.getDataPart();
            });
    if (!one.tryAcquire()) {
      throw RpcException.failedPrecondition(
          "another update is written to this node; wait for its end");
    }
    AtomicReference<String> reason = new AtomicReference<>();
    ((ServerCallStreamObserver<InstallResponse>) caller)
        .setOnCloseHandler(
            () -> Optional.ofNullable(reason.get()).ifPresent(why -> reboot(here, why)));
    String asked = "an update, asked for by " + RpcPeer.current().describe();
    streams.serve(
        "install",
        caller,
        sink -> {
          try (InputStream bytes = upload.bytes()) {
            requireNoLockOut("not updated: ");
            InstallResponse done = installed(here, bytes, choice);
            if (choice.get().getReboot()) {
              reason.set(asked);
            }
            sink.send(done);
          } catch (IOException e) {
            throw RpcException.failedPrecondition(
                "the update was not installed, and what runs was not changed: " + e.getMessage());
          } finally {
            one.release();
          }
        });
    return upload;
  }

  @Override
  public void rebootSystem(
      RebootSystemRequest request, StreamObserver<RebootSystemResponse> caller) {
    Slots here =
        required(
            "restart its process with polisctl node restart --runtime, or the machine with the machine's own tools");
    requireNoLockOut("not rebooted: ");
    if (one.availablePermits() == 0) {
      throw RpcException.failedPrecondition(
          "an update is written to this node; reboot after its end");
    }
    String why = "a reboot, asked for by " + RpcPeer.current().describe();
    ServerCallStreamObserver<RebootSystemResponse> call =
        (ServerCallStreamObserver<RebootSystemResponse>) caller;
    // A caller that leaves does not revoke the request.
    call.setOnCloseHandler(() -> reboot(here, why));
    call.setOnCancelHandler(() -> reboot(here, why));
    caller.onNext(RebootSystemResponse.getDefaultInstance());
    caller.onCompleted();
  }

  private void reboot(Slots here, String why) {
    here.reboot();
    boot.powerOff(why);
  }

  private void requireNoLockOut(String refused) {
    boot.lockOut()
        .ifPresent(
            why -> {
              throw RpcException.failedPrecondition(refused + why);
            });
  }

  /** Reads the first byte before the choice, which comes with it. */
  private static InstallResponse installed(
      Slots slots, InputStream bytes, AtomicReference<InstallChoice> choice)
      throws IOException, InterruptedException {
    PushbackInputStream update = new PushbackInputStream(bytes);
    int first = update.read();
    if (first >= 0) {
      update.unread(first);
    }
    return slots.install(
        update, Optional.ofNullable(choice.get()).orElse(InstallChoice.getDefaultInstance()));
  }
}
