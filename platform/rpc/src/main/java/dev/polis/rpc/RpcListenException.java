package dev.polis.rpc;

/**
 * Reports that a listener cannot be opened. The message names the address, and the process that
 * uses it.
 */
public final class RpcListenException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  RpcListenException(String message, Throwable cause) {
    super(message, cause);
  }
}
