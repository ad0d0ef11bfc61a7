package dev.polis.logtree.component;

import dev.polis.logtree.LogTree;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Logs the text that is printed on standard output and error, and prints it as before. */
final class StreamCapture implements AutoCloseable {
  private final PrintStream formerOut = System.out;
  private final PrintStream formerErr = System.err;
  private final PrintStream out;
  private final PrintStream err;

  private StreamCapture(LogTree tree) {
    out = capturing(formerOut, tree.raw("stdout").stream());
    err = capturing(formerErr, tree.raw("stderr").stream());
  }

  static StreamCapture install(LogTree tree) {
    StreamCapture capture = new StreamCapture(tree);
    System.setOut(capture.out);
    System.setErr(capture.err);
    return capture;
  }

  /** Restores the former streams, unless other code has replaced them meanwhile. */
  @Override
  public void close() {
    if (System.out == out) {
      System.setOut(formerOut);
    }
    if (System.err == err) {
      System.setErr(formerErr);
    }
    out.close();
    err.close();
  }

  private static PrintStream capturing(PrintStream former, OutputStream journal) {
    return new PrintStream(new Tee(former, journal), true, StandardCharsets.UTF_8);
  }

  private static final class Tee extends OutputStream {
    private final PrintStream former;
    private final OutputStream journal;

    Tee(PrintStream former, OutputStream journal) {
      this.former = former;
      this.journal = journal;
    }

    @Override
    public void write(int b) throws IOException {
      former.write(b);
      journal.write(b);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      former.write(bytes, offset, length);
      journal.write(bytes, offset, length);
    }

    @Override
    public void flush() {
      former.flush();
    }

    @Override
    public void close() throws IOException {
      former.flush();
      journal.close();
    }
  }
}
