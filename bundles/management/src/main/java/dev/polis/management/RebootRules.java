package dev.polis.management;

import dev.polis.rpc.RpcException;
import dev.polis.wire.api.RebootRequest;
import dev.polis.wire.api.RebootRequest.NextBoot;
import dev.polis.wire.api.RebootRequest.Type;

/** Refuses reboots that make no sense or that this node cannot do; a plain power off passes. */
final class RebootRules {

  private static final String HOST =
      ": this node runs as a process on a machine that is not its own; ";

  private RebootRules() {}

  /**
   * Lets a plain power off pass.
   *
   * @throws dev.polis.rpc.RpcException INVALID_ARGUMENT for what makes no sense anywhere,
   *     FAILED_PRECONDITION for what this node cannot do
   */
  static void requirePossible(RebootRequest request) {
    requireKnown(request);
    if (request.getType() == Type.TYPE_KEXEC
        && request.getNextBoot() == NextBoot.NEXT_BOOT_START_FIRMWARE_UI) {
      throw RpcException.invalid(
          "type KEXEC with next_boot START_FIRMWARE_UI: loading a kernel directly goes past the"
              + " firmware; send type FIRMWARE");
    }
    switch (request.getType()) {
      case TYPE_FIRMWARE ->
          throw RpcException.failedPrecondition(
              "type FIRMWARE cannot be done"
                  + HOST
                  + "restart its process, or reboot the machine by the machine's own means");
      case TYPE_KEXEC ->
          throw RpcException.failedPrecondition(
              "type KEXEC cannot be done"
                  + HOST
                  + "restart its process, or load a kernel by the machine's own means");
      default -> requireNormal(request.getNextBoot());
    }
  }

  private static void requireKnown(RebootRequest request) {
    if (request.getType() == Type.TYPE_INVALID || request.getType() == Type.UNRECOGNIZED) {
      throw RpcException.invalid(
          "type is %d, which is no type; set FIRMWARE (1), KEXEC (2) or POWER_OFF (3)"
              .formatted(request.getTypeValue()));
    }
    if (request.getNextBoot() == NextBoot.UNRECOGNIZED) {
      throw RpcException.invalid(
          "next_boot is %d, which is no way to boot; set START_NORMAL (0), START_ROLLBACK (1) or START_FIRMWARE_UI (2)"
              .formatted(request.getNextBootValue()));
    }
  }

  private static void requireNormal(NextBoot next) {
    if (next != NextBoot.NEXT_BOOT_START_NORMAL) {
      throw RpcException.failedPrecondition(
          "next_boot "
              + next.name().replace("NEXT_BOOT_", "")
              + " cannot be prepared"
              + HOST
              + "it has no slots to choose from and no say over the firmware; send START_NORMAL");
    }
  }
}
