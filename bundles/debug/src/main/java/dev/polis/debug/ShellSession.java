package dev.polis.debug;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Converter;

/**
 * Executes the lines from one connection. After each line it writes a line that begins with a zero
 * byte and has the result, so that a client knows when to read the next input.
 */
final class ShellSession {
  /** The first character of the line after a command's output. */
  private static final char END = '\0';

  /** The longest line, so that a line without an end does not fill the memory. */
  private static final int LONGEST_LINE = 16 * 1024;

  private final SocketChannel channel;
  private final ShellCommands commands;
  private final Consumer<String> audit;

  /**
   * @param audit receives each line before it is executed
   */
  ShellSession(SocketChannel channel, ShellCommands commands, Consumer<String> audit) {
    this.channel = channel;
    this.commands = commands;
    this.audit = audit;
  }

  /** Sends a client the reason why it gets no shell, and ends the connection. */
  static void refuse(SocketChannel channel, String why) throws IOException {
    try (channel;
        PrintStream out = printer(channel)) {
      out.println(why);
      out.println(END + "refused");
    }
  }

  private static PrintStream printer(SocketChannel channel) {
    return new PrintStream(Channels.newOutputStream(channel), true, StandardCharsets.UTF_8);
  }

  /** Executes lines until the client ends the connection or sends exit. */
  void run() {
    try (channel;
        PrintStream out = printer(channel);
        CommandSession session = commands.session(InputStream.nullInputStream(), out)) {
      BufferedReader lines =
          new BufferedReader(
              new InputStreamReader(Channels.newInputStream(channel), StandardCharsets.UTF_8),
              LONGEST_LINE);
      for (String line = read(lines); line != null; line = read(lines)) {
        if (line.strip().equals("exit")) {
          return;
        }
        out.println(END + execute(line, session, out));
      }
    } catch (IOException e) {
      // The client has left, or the organ has ended the connection, so no client waits for an
      // answer.
      audit.accept("(the connection has ended: " + e.getMessage() + ")");
    }
  }

  private static String read(BufferedReader lines) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int next = lines.read(); next != '\n'; next = lines.read()) {
      if (next < 0) {
        return line.isEmpty() ? null : line.toString();
      }
      if (line.length() == LONGEST_LINE) {
        throw new IOException("a line is longer than " + LONGEST_LINE + " characters");
      }
      line.append((char) next);
    }
    return line.toString();
  }

  private String execute(String line, CommandSession session, PrintStream out) {
    if (line.isBlank()) {
      return "done";
    }
    audit.accept(line);
    try {
      Object result = session.execute(line);
      if (result != null) {
        out.println(session.format(result, Converter.INSPECT));
      }
      return "done";
    } catch (Exception e) {
      out.println(e.getMessage() == null ? e.toString() : e.getMessage());
      return "failed";
    }
  }
}
