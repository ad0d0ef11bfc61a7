package dev.polis.api.network;

/** Reports a network configuration that cannot be applied; names each field and what to do. */
public final class NetworkConfigException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public NetworkConfigException(String message) {
    super(message);
  }
}
