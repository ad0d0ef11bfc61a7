package dev.polis.ctl.node;

import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.files.layout.Root;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Opens the developers' shell of a node on this machine. */
@Command(
    name = "shell",
    description = {
      "Opens the Gogo shell of a node on this machine, for developers: it reaches into the framework of the running process."
          + " It is off until \"config set dev.polis.debug.shell=true\".",
      "Only the user that the node runs as gets in. With a LINE it executes that alone; exit code 1 if it fails."
    })
public final class ShellCommand extends CtlCommand {
  /** Begins the line with which the node says how a line has ended. */
  private static final String END = "\0";

  private static final String REFUSED = "refused";
  private static final String DONE = "done";

  @Parameters(arity = "0..*", paramLabel = "LINE", description = "the line to execute, such as: lb")
  List<String> line = List.of();

  @Override
  protected ExitCode run() {
    Path folder =
        options()
            .target()
            .state()
            .map(state -> Root.at(state).ephemeral().shell().path())
            .orElseThrow(
                () ->
                    new CtlException(
                        ExitCode.USAGE,
                        "the shell is a socket in the state directory of a node on this machine; give --state DIR"));
    try (SocketChannel channel = connect(folder)) {
      Shell shell = new Shell(channel, out());
      return line.isEmpty() ? interactive(shell) : shell.execute(String.join(" ", line));
    } catch (IOException e) {
      throw new CtlException(
          ExitCode.UNREACHABLE,
          "the shell in %s has ended the connection: %s; if the debug organ was replaced, open it again"
              .formatted(folder, e.getMessage()),
          e);
    }
  }

  /** Connects to the newest instance of the organ that answers. */
  private SocketChannel connect(Path folder) {
    for (Path socket : sockets(folder)) {
      try {
        SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        channel.connect(UnixDomainSocketAddress.of(socket));
        return channel;
      } catch (IOException e) {
        // A process that was killed leaves its socket behind; the next one may answer.
        continue;
      }
    }
    throw new CtlException(
        ExitCode.UNREACHABLE,
        "no shell answers in %s: switch it on with \"%s\", as the user that the node runs as"
            .formatted(folder, options().command("config set dev.polis.debug.shell=true")));
  }

  private static List<Path> sockets(Path folder) {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(file -> file.getFileName().toString().matches("shell\\.[0-9]{1,9}\\.sock"))
          .sorted(Comparator.comparingInt(ShellCommand::number).reversed())
          .toList();
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      throw new CtlException(
          folder + " cannot be read: " + e.getMessage() + "; run this as the user of the node", e);
    }
  }

  private static int number(Path socket) {
    return Integer.parseInt(socket.getFileName().toString().split("\\.")[1]);
  }

  private ExitCode interactive(Shell shell) throws IOException {
    BufferedReader typed =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    out()
        .println(
            "Each line is written to the audit log of the node. \"help\" lists commands, \"exit\" ends.");
    while (true) {
      out().print("polis> ");
      out().flush();
      String next = typed.readLine();
      if (next == null || next.strip().equals("exit")) {
        return ExitCode.OK;
      }
      shell.execute(next);
    }
  }

  /** One connection. */
  private static final class Shell {
    private final BufferedWriter to;
    private final BufferedReader from;
    private final PrintWriter out;

    Shell(SocketChannel channel, PrintWriter out) {
      this.to =
          new BufferedWriter(
              new OutputStreamWriter(Channels.newOutputStream(channel), StandardCharsets.UTF_8));
      this.from =
          new BufferedReader(
              new InputStreamReader(Channels.newInputStream(channel), StandardCharsets.UTF_8));
      this.out = out;
    }

    /** Executes a line and prints its output until the node says how it has ended. */
    ExitCode execute(String command) throws IOException {
      send(command);
      StringBuilder said = new StringBuilder();
      for (String next = from.readLine(); next != null; next = from.readLine()) {
        if (next.startsWith(END)) {
          return ended(next.substring(END.length()), said.toString());
        }
        said.append(next);
        out.println(next);
      }
      throw new IOException("the node has closed it");
    }

    private void send(String command) {
      try {
        to.write(command);
        to.newLine();
        to.flush();
      } catch (IOException e) {
        // The node has ended the connection; why, it has said before, and is read next.
        out.flush();
      }
    }

    private ExitCode ended(String how, String said) {
      out.flush();
      if (how.equals(REFUSED)) {
        throw new CtlException("the node refuses a shell: " + said);
      }
      return how.equals(DONE) ? ExitCode.OK : ExitCode.FAILED;
    }
  }
}
