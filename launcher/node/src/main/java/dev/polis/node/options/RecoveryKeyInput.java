package dev.polis.node.options;

import dev.polis.node.exit.Refusal;
import java.io.Console;
import java.io.IOException;
import java.io.InputStream;
import java.nio.CharBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Takes the owner's recovery key from standard input before the node starts, and hands it on by the
 * standard input of this process: the key is in no argument, no environment and on no disk. What
 * was read is erased.
 */
public final class RecoveryKeyInput extends InputStream {

  /** A PEM text of an X25519 key has about 120 characters; more is something else. */
  private static final int LONGEST = 4096;

  private static final String BEGIN = "-----BEGIN";
  private static final String END = "-----END";

  private final byte[] text;
  private int next;

  RecoveryKeyInput(byte[] text) {
    this.text = text;
  }

  /**
   * Reads the key to its end, on a terminal without showing it.
   *
   * @throws Refusal if there is nothing that looks like a key
   */
  public static RecoveryKeyInput take() throws Refusal, IOException {
    Console console = System.console();
    byte[] text =
        console != null && console.isTerminal() ? pasted(console) : System.in.readNBytes(LONGEST);
    if (!new String(text, StandardCharsets.ISO_8859_1).contains(BEGIN)) {
      Arrays.fill(text, (byte) 0);
      throw new Refusal(
          "--recovery-key -: standard input holds %d bytes and no key in PEM; pass the key, for example with \"... --recovery-key - < FILE\""
              .formatted(text.length));
    }
    return new RecoveryKeyInput(text);
  }

  private static byte[] pasted(Console console) {
    console.printf("Paste the owner's recovery key (PEM). It is not shown.%n");
    byte[] text = new byte[LONGEST];
    int length = 0;
    for (char[] line = console.readPassword(); line != null; line = console.readPassword()) {
      byte[] bytes = StandardCharsets.US_ASCII.encode(CharBuffer.wrap(line)).array();
      int taken = Math.min(line.length, text.length - length - 1);
      System.arraycopy(bytes, 0, text, length, taken);
      length += taken;
      text[length++] = '\n';
      boolean last = new String(line).startsWith(END) || length >= text.length - 1;
      Arrays.fill(line, ' ');
      Arrays.fill(bytes, (byte) 0);
      if (last) {
        break;
      }
    }
    byte[] key = Arrays.copyOf(text, length);
    Arrays.fill(text, (byte) 0);
    return key;
  }

  @Override
  public synchronized int read() {
    if (next == text.length) {
      return -1;
    }
    byte one = text[next];
    text[next++] = 0;
    return one & 0xff;
  }

  /** Erases the text that was not read. */
  public synchronized void wipe() {
    Arrays.fill(text, (byte) 0);
    next = text.length;
  }
}
