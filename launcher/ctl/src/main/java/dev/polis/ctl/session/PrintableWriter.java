package dev.polis.ctl.session;

import dev.polis.logtree.LogFormat;
import java.io.PrintWriter;

/**
 * Writes text without the characters by which the node that said it could drive the operator's
 * terminal: it writes {@code ?} instead.
 */
public final class PrintableWriter extends PrintWriter {

  /**
   * Creates a writer before another one, to which each line is written at once.
   *
   * @param to tells whether its reader has gone, so it is no other kind of writer
   */
  public PrintableWriter(PrintWriter to) {
    super(to, true);
  }

  /** Returns whether a character moves no cursor, or to the next line or column alone. */
  public static boolean isHarmless(int character) {
    return character == '\n' || character == '\t' || LogFormat.isPrintable(character);
  }

  @Override
  public void write(int character) {
    write(String.valueOf((char) character));
  }

  @Override
  public void write(char[] characters, int from, int length) {
    write(new String(characters, from, length));
  }

  @Override
  public void write(String text, int from, int length) {
    StringBuilder shown = new StringBuilder();
    text.substring(from, from + length)
        .codePoints()
        .forEach(each -> shown.appendCodePoint(isHarmless(each) ? each : '?'));
    super.write(shown.toString(), 0, shown.length());
  }
}
