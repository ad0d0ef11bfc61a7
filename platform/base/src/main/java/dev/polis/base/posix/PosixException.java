package dev.polis.base.posix;

import java.io.IOException;
import java.util.List;

/** Reports that the kernel refused a system call. */
public final class PosixException extends IOException {
  private static final long serialVersionUID = 1L;

  private final Errno errno;

  PosixException(String call, List<?> arguments, int number) {
    this(call, arguments, Errno.of(number), LibC.describe(number));
  }

  private PosixException(String call, List<?> arguments, Errno errno, String text) {
    super(
        "%s(%s): %s (%s); %s"
            .formatted(
                call,
                String.join(", ", arguments.stream().map(Object::toString).toList()),
                text,
                errno,
                errno.remedy(call)));
    this.errno = errno;
  }

  public Errno errno() {
    return errno;
  }
}
