package dev.polis.cluster;

/** Reports missing or wrong node parameters; the message names the file and the field. */
final class NodeParametersException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  NodeParametersException(String message) {
    super(message);
  }

  NodeParametersException(String message, Throwable cause) {
    super(message, cause);
  }
}
