package dev.polis.posix;

import java.util.List;

/** The kernel refused a system call. */
public final class PosixException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String errno;
  private final String call;

  /**
   * A refusal.
   *
   * @param call the system call, such as {@code mount}
   * @param arguments what it was called with
   * @param errno name of the error, such as {@code EPERM}
   * @param description the error in the system's words
   * @param remedy what to do next
   */
  public PosixException(
      String call, List<String> arguments, String errno, String description, String remedy) {
    super(
        "%s(%s): %s (%s); %s"
            .formatted(call, String.join(", ", arguments), errno, description, remedy));
    this.errno = errno;
    this.call = call;
  }

  /** The name of the error, such as {@code EPERM}. */
  public String errno() {
    return errno;
  }

  /** The system call that was refused. */
  public String call() {
    return call;
  }
}
