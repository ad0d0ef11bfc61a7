package dev.polis.api.cluster;

/** Reports that the cluster has disowned this node, which never belongs to a cluster again. */
public final class DisownedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public DisownedException(String message) {
    super(message);
  }

  public DisownedException(String message, Throwable cause) {
    super(message, cause);
  }
}
