package dev.polis.rpc;

import io.grpc.MethodDescriptor;

/** Tells of methods what their options say. */
public final class RpcMethods {

  private RpcMethods() {}

  /**
   * Returns whether calls of a method change nothing, by the same options that decide who may call
   * it. A method without options is taken for one that changes something.
   *
   * @param method the method
   */
  public static boolean readsOnly(MethodDescriptor<?, ?> method) {
    return !CallRule.of(method).mutating();
  }
}
