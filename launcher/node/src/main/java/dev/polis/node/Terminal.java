package dev.polis.node;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Prints lasting lines to standard error, and on a terminal one live line below them that is
 * replaced as time goes by. Usable from any thread.
 */
final class Terminal {
  private static final String ERASE = "\r\u001b[K";

  private final PrintStream out;
  private final int columns;
  private String live = "";

  /**
   * @param out where to
   * @param columns the width of the terminal; 0 if it is none, then nothing live is shown
   */
  Terminal(PrintStream out, int columns) {
    this.out = out;
    this.columns = columns;
  }

  boolean isLive() {
    return columns > 0;
  }

  synchronized void line(String text) {
    clear();
    out.println(text);
    show();
  }

  /** Replaces the live line; an empty text takes it away. */
  synchronized void live(String text) {
    if (!isLive() || text.equals(live)) {
      return;
    }
    clear();
    // One column stays free: a full line would wrap, and could not be erased any more.
    live = text.length() < columns ? text : text.substring(0, columns - 1);
    show();
  }

  /**
   * Returns a stream for code that knows nothing of the live line: each line becomes a lasting one.
   */
  PrintStream stream() {
    return new PrintStream(new Lines(), true, StandardCharsets.UTF_8);
  }

  private void clear() {
    if (!live.isEmpty()) {
      out.print(ERASE);
    }
  }

  private void show() {
    out.print(live);
    out.flush();
  }

  private final class Lines extends OutputStream {
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();

    @Override
    public synchronized void write(int b) {
      if (b == '\n') {
        Terminal.this.line(line.toString(StandardCharsets.UTF_8));
        line.reset();
      } else {
        line.write(b);
      }
    }
  }
}
