package dev.polis.api.network;

/** Reports an inapplicable network configuration, with each field and the remedy. */
public final class NetworkConfigException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public NetworkConfigException(String message) {
    super(message);
  }
}
