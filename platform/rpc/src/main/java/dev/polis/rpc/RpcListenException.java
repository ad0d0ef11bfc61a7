package dev.polis.rpc;

/**
 * Reports that a listener cannot be opened. The message names the address and, where it is taken,
 * who has it.
 */
public final class RpcListenException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  RpcListenException(String message, Throwable cause) {
    super(message, cause);
  }
}
