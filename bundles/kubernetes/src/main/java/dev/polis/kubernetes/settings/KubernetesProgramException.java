package dev.polis.kubernetes.settings;

/** Reports an unusable program of Kubernetes, with the searched folder and the remedy. */
public final class KubernetesProgramException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  KubernetesProgramException(String message) {
    super(message);
  }

  KubernetesProgramException(String message, Throwable cause) {
    super(message, cause);
  }
}
