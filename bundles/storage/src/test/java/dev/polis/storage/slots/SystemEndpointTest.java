package dev.polis.storage.slots;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.Sealer;
import dev.polis.base.boot.BootReport;
import dev.polis.logtree.LogTree;
import dev.polis.process.Commands;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcPeer;
import dev.polis.rpc.RpcRole;
import dev.polis.wire.system.RebootSystemRequest;
import dev.polis.wire.system.RebootSystemResponse;
import io.grpc.Context;
import io.grpc.stub.ServerCallStreamObserver;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Asks the endpoint for a reboot. */
class SystemEndpointTest {

  @TempDir Path folder;
  private final List<String> offs = new ArrayList<>();
  private Optional<String> lockOut = Optional.empty();
  private final Answered call = new Answered();

  /** Returns a report that notes what it is asked for. */
  private BootReport boot() {
    return (BootReport)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {BootReport.class},
            (_, method, given) ->
                switch (method.getName()) {
                  case "lockOut" -> lockOut;
                  case "powerOff" -> offs.add((String) given[0]) ? null : null;
                  default -> throw new AssertionError("not needed: " + method);
                });
  }

  private void reboot(Optional<Slots> slots) {
    Context.current()
        .withValue(RpcPeer.KEY, new RpcPeer.User("owner", RpcRole.OWNER, "SHA256:test"))
        .run(
            () ->
                new SystemEndpoint(slots, boot(), null)
                    .rebootSystem(RebootSystemRequest.getDefaultInstance(), call));
  }

  private Optional<Slots> machine() {
    Sealer none =
        (Sealer)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Sealer.class},
                (_, method, _) -> {
                  throw new AssertionError("not needed: " + method);
                });
    return Optional.of(
        new Slots(folder, new Commands(), none, () -> {}, LogTree.create().log("slots")));
  }

  @Test
  @DisplayName("a machine reboots after the answer, and the reason names the caller")
  void machineReboots() {
    reboot(machine());
    assertEquals(List.of("answer", "end"), call.sent);
    assertEquals(List.of(), offs, "powered off before the end of the call");

    call.closed.run();

    assertEquals(List.of("a reboot, asked for by user \"owner\""), offs);
    assertTrue(Files.exists(folder.resolve("reboot")), "it would stay off");
  }

  @Test
  @DisplayName("a node that is no machine refuses with the command for its process")
  void noMachine() {
    RpcException refused = assertThrows(RpcException.class, () -> reboot(Optional.empty()));

    assertTrue(
        refused.getMessage().contains("polisctl node restart --runtime"), refused::getMessage);
    assertEquals(List.of(), call.sent);
  }

  @Test
  @DisplayName("a reboot after which no key opens the volume is refused")
  void lockOut() {
    lockOut = Optional.of("the owner has no recovery key");

    RpcException refused = assertThrows(RpcException.class, () -> reboot(machine()));

    assertTrue(refused.getMessage().contains("the owner has no recovery key"));
    assertFalse(Files.exists(folder.resolve("reboot")));
  }

  /** Keeps what the endpoint sends, and what it does at the end. */
  private static final class Answered extends ServerCallStreamObserver<RebootSystemResponse> {
    private final List<String> sent = new ArrayList<>();
    private Runnable closed = () -> {};

    @Override
    public void setOnCloseHandler(Runnable handler) {
      closed = handler;
    }

    @Override
    public void setOnCancelHandler(Runnable handler) {
      assertTrue(sent.isEmpty(), "set too late");
    }

    @Override
    public void onNext(RebootSystemResponse value) {
      sent.add("answer");
    }

    @Override
    public void onCompleted() {
      sent.add("end");
    }

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public boolean isReady() {
      return true;
    }

    @Override
    public void onError(Throwable failure) {
      throw new AssertionError(failure);
    }

    @Override
    public void setOnReadyHandler(Runnable handler) {
      throw new AssertionError("not needed");
    }

    @Override
    public void setCompression(String compression) {
      throw new AssertionError("not needed");
    }

    @Override
    public void setMessageCompression(boolean enable) {
      throw new AssertionError("not needed");
    }

    @Override
    public void disableAutoInboundFlowControl() {
      throw new AssertionError("not needed");
    }

    @Override
    public void request(int count) {
      throw new AssertionError("not needed");
    }
  }
}
