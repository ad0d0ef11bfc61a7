package dev.polis.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs a program under another account of the machine, through util-linux' setpriv. setpriv changes
 * the account and then becomes the program, so the process id stays the same.
 */
public final class RunAs {

  /**
   * The time for {@code id}, which reads a file; a directory service in the network may need a
   * second.
   */
  private static final Duration LOOKUP = Duration.ofSeconds(5);

  /**
   * The capabilities CAP_KILL and CAP_SYS_PTRACE in the kernel's mask, which the adoption of a
   * child needs.
   */
  private static final long LOOKS_AFTER = 1L << 5 | 1L << 19;

  private static final String NUMBER = "#";

  /** The capability that lets a program listen at ports below 1024. */
  static final String LISTEN = "net_bind_service";

  /** The capability that lets a program set the machine's clock. */
  static final String SET_CLOCK = "sys_time";

  /**
   * Runs under the account; its exit code tells whether the program or the folder is out of reach.
   */
  private static final String TRIAL = "test -x \"$0\" || exit 64; test -x \"$1\" || exit 65";

  private static final int NO_PROGRAM = 64;
  private static final int NO_FOLDER = 65;

  private static final int HEXADECIMAL = 16;

  private RunAs() {}

  /**
   * Returns the text for {@link ProcessSpec#withAccount} of an account that exists only as a
   * number, so that a child runs as no user of the machine.
   *
   * @param number from 60578 to 61183, which neither Debian nor systemd assigns, and which a
   *     container's range of numbers contains
   */
  public static String number(int number) {
    return NUMBER + number;
  }

  /**
   * Returns the obstacle to running a program under such an account and adopting it, as a clause;
   * empty if there is none, or if this process is not root. It makes a trial: a container may keep
   * the account from root, and a folder may keep the account from the program.
   *
   * @throws ProcessException if the trial is impossible, such as without setpriv
   */
  public static Optional<String> obstacle(int number, Path program) throws InterruptedException {
    return obstacle(number, program, Path.of("/")).map(Obstacle::text);
  }

  /**
   * An obstacle to another account.
   *
   * @param text what it is, as a clause
   * @param remedy the command that ends it; empty if none does
   */
  record Obstacle(String text, String remedy) {}

  /**
   * Returns the same, and also checks a folder that the program needs.
   *
   * @throws ProcessException if the trial is impossible, such as without setpriv
   */
  static Optional<Obstacle> obstacle(int number, Path program, Path folder)
      throws InterruptedException {
    if (!isRoot()) {
      return Optional.empty();
    }
    try {
      if (!looksAfterOthers()) {
        return Optional.of(
            new Obstacle("this root may neither look at processes of others nor end them", ""));
      }
      List<String> trial =
          Commands.located(List.of("sh", "-c", TRIAL, program.toString(), folder.toString()));
      Commands.Result tried = new Commands().run(LOOKUP, command(number(number), trial));
      return switch (tried.exit()) {
        case 0 -> Optional.empty();
        case NO_PROGRAM -> Optional.of(inTheWay("other accounts may not run ", program));
        case NO_FOLDER -> Optional.of(inTheWay("other accounts cannot get to ", folder));
        default -> Optional.of(new Obstacle("the account cannot be changed: " + tried.words(), ""));
      };
    } catch (IOException e) {
      throw new ProcessException(
          "cannot try another account for " + program + ": " + e.getMessage(), e);
    }
  }

  /** Names the first folder of the path that lets no other account pass, and lets them. */
  private static Obstacle inTheWay(String what, Path file) throws IOException {
    List<Path> closed = new ArrayList<>();
    for (Path above = file; above != null; above = above.getParent()) {
      if (!Files.getPosixFilePermissions(above).contains(PosixFilePermission.OTHERS_EXECUTE)) {
        closed.addFirst(above);
      }
    }
    if (closed.isEmpty()) {
      return new Obstacle(what + file, "");
    }
    String paths = closed.stream().map(Path::toString).collect(Collectors.joining(" "));
    return new Obstacle(
        "%s%s, as %s lets none of them pass".formatted(what, file, closed.getFirst()),
        "chmod o+x %s (others may then pass, but not look inside), and restart the node"
            .formatted(paths));
  }

  private static boolean looksAfterOthers() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("CapEff:"))
        .map(line -> Long.parseUnsignedLong(line.split("\\s+")[1], HEXADECIMAL))
        .allMatch(held -> (held & LOOKS_AFTER) == LOOKS_AFTER);
  }

  /**
   * Returns the command that runs another one under an account.
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

  /**
   * Returns the same command with one right that only root has by default.
   *
   * @param account one of {@link #number}; empty for the user of this node
   * @param capability {@link #LISTEN} or {@link #SET_CLOCK}
   */
  static List<String> capableCommand(String account, String capability, List<String> command)
      throws InterruptedException {
    List<String> changed = command(account, command);
    if (changed.equals(command)) {
      return changed;
    }
    List<String> capable = new ArrayList<>(changed);
    capable.addAll(1, List.of("--inh-caps=+" + capability, "--ambient-caps=+" + capability));
    return List.copyOf(capable);
  }

  private static List<String> change(String user, String group, String groups) {
    return List.of(setpriv(), "--reuid=" + user, "--regid=" + group, groups, "--no-new-privs");
  }

  static boolean isRoot() {
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
