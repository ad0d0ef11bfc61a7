package dev.polis.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Runs a program as another account of the machine, through util-linux' setpriv. It changes the
 * account and then becomes the program, so the process id stays what the start returned.
 */
public final class RunAs {

  /** id reads a file; a directory service in the network may need a second. */
  private static final Duration LOOKUP = Duration.ofSeconds(5);

  /** CAP_KILL and CAP_SYS_PTRACE, in the kernel's mask; without them no child is adopted. */
  private static final long LOOKS_AFTER = 1L << 5 | 1L << 19;

  private static final String NUMBER = "#";
  private static final int HEXADECIMAL = 16;

  private RunAs() {}

  /**
   * Returns the name for {@link ProcessSpec#withAccount} of an account that exists as a number
   * alone, so that a child is nobody whom the machine knows.
   *
   * @param number from 60578 to 61183, which neither Debian nor systemd gives to anybody, and which
   *     is within the numbers that a container has
   */
  public static String number(int number) {
    return NUMBER + number;
  }

  /**
   * Returns why a program cannot be run as such an account and looked after, as a clause; empty if
   * it can, or if this is not root, which alone can change the account. It is found out by trying:
   * a container may keep the account from root, and a folder the program from the account.
   *
   * @throws ProcessException if it cannot be tried, as there is no setpriv
   */
  public static Optional<String> obstacle(int number, Path program) throws InterruptedException {
    if (!isRoot()) {
      return Optional.empty();
    }
    try {
      if (!looksAfterOthers()) {
        return Optional.of("this root may neither look at processes of others nor end them");
      }
      List<String> test = Commands.located(List.of("test", "-x", program.toString()));
      Commands.Result tried = new Commands().run(LOOKUP, command(number(number), test));
      return tried.ok()
          ? Optional.empty()
          : Optional.of(
              tried.output().isEmpty()
                  ? "other accounts may not run " + program
                  : "the account cannot be changed: " + tried.output());
    } catch (IOException e) {
      throw new ProcessException(
          "cannot try another account for " + program + ": " + e.getMessage(), e);
    }
  }

  private static boolean looksAfterOthers() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("CapEff:"))
        .map(line -> Long.parseUnsignedLong(line.split("\\s+")[1], HEXADECIMAL))
        .allMatch(held -> (held & LOOKS_AFTER) == LOOKS_AFTER);
  }

  /**
   * Returns the command that runs another one as an account.
   *
   * @param account its name, or one of {@link #number}; empty for the user of this node
   * @param command with the program's absolute path
   * @return the same command if no account is named, or if this is not root, which alone can change
   *     the account
   * @throws ProcessException if there is no such account, or no setpriv
   * @throws InterruptedException if interrupted
   */
  public static List<String> command(String account, List<String> command)
      throws InterruptedException {
    if (account.isEmpty() || !isRoot()) {
      return List.copyOf(command);
    }
    List<String> change =
        account.startsWith(NUMBER)
            ? change(account.substring(1), account.substring(1), "--clear-groups")
            : change(account, group(account), "--init-groups");
    return Stream.concat(change.stream(), command.stream()).toList();
  }

  private static List<String> change(String user, String group, String groups) {
    return List.of(setpriv(), "--reuid=" + user, "--regid=" + group, groups, "--no-new-privs");
  }

  private static boolean isRoot() {
    return "root".equals(System.getProperty("user.name"));
  }

  private static String setpriv() {
    Path program = Path.of(Commands.located(List.of("setpriv")).getFirst());
    if (!program.isAbsolute() || !Files.isExecutable(program)) {
      throw new ProcessException("there is no setpriv in PATH; install util-linux");
    }
    return program.toString();
  }

  private static String group(String account) throws InterruptedException {
    try {
      Commands.Result found = new Commands().run(LOOKUP, List.of("id", "--group", "--", account));
      if (!found.ok()) {
        throw new ProcessException(
            "this machine has no account \"%s\" to run a program as; make it with \"useradd --system %s\", or name another"
                .formatted(account, account));
      }
      return found.output();
    } catch (IOException e) {
      throw new ProcessException(
          "cannot look up the account " + account + ": " + e.getMessage(), e);
    }
  }
}
