package dev.polis.rpc;

import io.grpc.MethodDescriptor;

/** Reads the options of methods. */
public final class RpcMethods {

  private RpcMethods() {}

  /**
   * Returns whether a method changes nothing, by the options that also decide who may call it. A
   * method without options counts as one that changes something.
   */
  public static boolean readsOnly(MethodDescriptor<?, ?> method) {
    return !CallRule.of(method).mutating();
  }
}
