package dev.polis.management;

import dev.polis.rpc.RpcException;
import dev.polis.wire.api.RebootRequest;
import dev.polis.wire.api.RebootRequest.NextBoot;
import dev.polis.wire.api.RebootRequest.Type;

/** Refuses invalid and impossible reboots; accepts a plain power-off. */
final class RebootRules {

  private static final String HOST = ": it runs as a process on a machine that is not its own; ";

  private RebootRules() {}

  /**
   * Accepts a plain power-off.
   *
   * @throws dev.polis.rpc.RpcException INVALID_ARGUMENT for a request that is invalid on each node,
   *     FAILED_PRECONDITION for one that this node cannot fulfil
   */
  static void requirePossible(RebootRequest request) {
    requireKnown(request);
    if (request.getType() == Type.TYPE_KEXEC
        && request.getNextBoot() == NextBoot.NEXT_BOOT_START_FIRMWARE_UI) {
      throw RpcException.invalid(
          "type KEXEC with next_boot START_FIRMWARE_UI: loading a kernel directly bypasses the"
              + " firmware; send type FIRMWARE");
    }
    switch (request.getType()) {
      case TYPE_FIRMWARE ->
          throw RpcException.failedPrecondition(
              "this node cannot do type FIRMWARE"
                  + HOST
                  + "restart the node's process, or reboot the machine with the machine's own tools;"
                  + " one that an image of Polis has booted reboots by polisctl node reboot");
      case TYPE_KEXEC ->
          throw RpcException.failedPrecondition(
              "this node cannot do type KEXEC"
                  + HOST
                  + "restart the node's process, or load a kernel with the machine's own tools");
      default -> requireNormal(request.getNextBoot());
    }
  }

  private static void requireKnown(RebootRequest request) {
    if (request.getType() == Type.TYPE_INVALID || request.getType() == Type.UNRECOGNIZED) {
      throw RpcException.invalid(
          "type is %d, which is not a type; set FIRMWARE (1), KEXEC (2) or POWER_OFF (3)"
              .formatted(request.getTypeValue()));
    }
    if (request.getNextBoot() == NextBoot.UNRECOGNIZED) {
      throw RpcException.invalid(
          "next_boot is %d, which is not a way to boot; set START_NORMAL (0), START_ROLLBACK (1) or START_FIRMWARE_UI (2)"
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
              + "the node has no slots and no control of the firmware; send START_NORMAL");
    }
  }
}
