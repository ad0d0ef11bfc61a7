package dev.polis.kubernetes.settings;

/** Says which program of Kubernetes cannot be used, where it was looked for, and what to do. */
public final class KubernetesProgramException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  KubernetesProgramException(String message) {
    super(message);
  }

  KubernetesProgramException(String message, Throwable cause) {
    super(message, cause);
  }
}
