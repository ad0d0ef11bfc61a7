package dev.polis.node;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Holds back what is printed to standard error while a node starts, such as the stacks that the
 * component runtime prints of each failure. A start that fails puts it into the crash record, so
 * that its cause stands alone on the screen; any other start prints it. Usable from any thread.
 */
final class StartErrors extends OutputStream implements AutoCloseable {
  /** Many stacks. A start that prints more is not one with a single cause. */
  private static final int MOST = 256 << 10;

  private final PrintStream former = System.err;
  private final PrintStream stream = new PrintStream(this, true, StandardCharsets.UTF_8);
  private final ByteArrayOutputStream held = new ByteArrayOutputStream();
  private boolean released;

  private StartErrors() {}

  /** Holds back what is printed from now on, until it is released or this is closed. */
  static StartErrors hold() {
    StartErrors errors = new StartErrors();
    System.setErr(errors.stream);
    return errors;
  }

  @Override
  public void write(int b) {
    write(new byte[] {(byte) b}, 0, 1);
  }

  @Override
  public synchronized void write(byte[] bytes, int offset, int length) {
    if (held.size() + length > MOST) {
      release();
    }
    if (released) {
      former.write(bytes, offset, length);
    } else {
      held.write(bytes, offset, length);
    }
  }

  @Override
  public void flush() {
    former.flush();
  }

  /** Prints what is held back, and from now on what comes. */
  synchronized void release() {
    released = true;
    former.print(take());
    former.flush();
  }

  /** Returns what is held back, which is not printed any more. */
  synchronized String take() {
    String text = held.toString(StandardCharsets.UTF_8);
    held.reset();
    return text;
  }

  /** Prints what is held back, and gives back the stream of before. */
  @Override
  public void close() {
    release();
    if (System.err == stream) {
      System.setErr(former);
    }
  }
}
