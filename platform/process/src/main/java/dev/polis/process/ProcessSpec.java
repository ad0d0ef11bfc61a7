package dev.polis.process;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Describes a child process as it is wanted. Two specs with the same {@link #digest} want the same
 * process; a running one with another digest is replaced.
 *
 * @param name unique among the processes of a node; also the name of its files
 * @param command program (absolute path) and arguments; never a secret, every user of the machine
 *     can read them
 * @param environment the whole environment; nothing is inherited
 * @param directory the working directory
 * @param fingerprint anything else that must cause a replacement when it changes, such as the
 *     digest of a configuration file; may be empty
 * @param scope what a stop ends
 * @param grace how long a process may take to end after SIGTERM, before SIGKILL
 * @param logLimit size in bytes at which the log file is rotated
 * @param account whose process it is where the node is root: a name, or a number of {@link
 *     RunAs#number}; empty for root's own. A node that is not root starts all its processes as its
 *     own user
 * @param stopSignal what asks it to end
 */
public record ProcessSpec(
    String name,
    List<String> command,
    Map<String, String> environment,
    Path directory,
    String fingerprint,
    Scope scope,
    Duration grace,
    long logLimit,
    String account,
    StopSignal stopSignal) {

  /** Says what a stop ends. */
  public enum Scope {
    /** The process and all its descendants, daemonized or not. */
    TREE,
    /**
     * The process alone, for programs whose children are meant to outlive them (containerd and its
     * shims).
     */
    PROCESS
  }

  /**
   * etcd and QEMU flush within a second; ten leave room for a slow disk and are what container
   * runtimes give.
   */
  public static final Duration DEFAULT_GRACE = Duration.ofSeconds(10);

  /**
   * Eight MiB: hours of a talkative etcd; two files of it for each of a dozen children are nothing
   * to a disk.
   */
  public static final long DEFAULT_LOG_LIMIT = 8L << 20;

  // No option of setpriv, and no number that could be meant as a name.
  private static final Pattern ACCOUNT =
      Pattern.compile("[A-Za-z_][A-Za-z0-9_.-]{0,31}|#[1-9][0-9]{0,8}");

  private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9_.-]{0,63}");

  /** Refuses a spec that could not be started. */
  public ProcessSpec {
    requireName(name);
    command = List.copyOf(command);
    environment = Map.copyOf(environment);
    if (command.isEmpty() || !Path.of(command.getFirst()).isAbsolute()) {
      throw new IllegalArgumentException(
          "process %s: program must be an absolute path, command is %s".formatted(name, command));
    }
    if (grace.isNegative()) {
      throw new IllegalArgumentException(
          "process %s: grace is negative: %s".formatted(name, grace));
    }
    if (logLimit <= 0) {
      throw new IllegalArgumentException(
          "process %s: log limit is %d bytes".formatted(name, logLimit));
    }
    if (!account.isEmpty() && !ACCOUNT.matcher(account).matches()) {
      throw new IllegalArgumentException(
          "process %s: \"%s\" is no name of an account".formatted(name, account));
    }
  }

  /** Returns a spec of a process in the root directory with an empty environment. */
  public static ProcessSpec of(String name, List<String> command) {
    return new ProcessSpec(
        name,
        command,
        Map.of(),
        Path.of("/"),
        "",
        Scope.TREE,
        DEFAULT_GRACE,
        DEFAULT_LOG_LIMIT,
        "",
        StopSignal.TERM);
  }

  /** Returns a spec of a process in the root directory with an empty environment. */
  public static ProcessSpec of(String name, String... command) {
    return of(name, List.of(command));
  }

  /** Returns the same with this whole environment. */
  public ProcessSpec withEnvironment(Map<String, String> other) {
    return new ProcessSpec(
        name, command, other, directory, fingerprint, scope, grace, logLimit, account, stopSignal);
  }

  /** Returns the same in this working directory. */
  public ProcessSpec withDirectory(Path other) {
    return new ProcessSpec(
        name,
        command,
        environment,
        other,
        fingerprint,
        scope,
        grace,
        logLimit,
        account,
        stopSignal);
  }

  /** Returns the same with this fingerprint. */
  public ProcessSpec withFingerprint(String other) {
    return new ProcessSpec(
        name, command, environment, directory, other, scope, grace, logLimit, account, stopSignal);
  }

  /** Returns the same with this scope. */
  public ProcessSpec withScope(Scope other) {
    return new ProcessSpec(
        name,
        command,
        environment,
        directory,
        fingerprint,
        other,
        grace,
        logLimit,
        account,
        stopSignal);
  }

  /** Returns the same with this grace. */
  public ProcessSpec withGrace(Duration other) {
    return new ProcessSpec(
        name,
        command,
        environment,
        directory,
        fingerprint,
        scope,
        other,
        logLimit,
        account,
        stopSignal);
  }

  /** Returns the same with this log limit in bytes. */
  public ProcessSpec withLogLimit(long other) {
    return new ProcessSpec(
        name,
        command,
        environment,
        directory,
        fingerprint,
        scope,
        grace,
        other,
        account,
        stopSignal);
  }

  /** Returns the same, run as this account where the node is root. */
  public ProcessSpec withAccount(String other) {
    return new ProcessSpec(
        name,
        command,
        environment,
        directory,
        fingerprint,
        scope,
        grace,
        logLimit,
        other,
        stopSignal);
  }

  /** Returns the same, asked to end by this signal. */
  public ProcessSpec withStopSignal(StopSignal other) {
    return new ProcessSpec(
        name, command, environment, directory, fingerprint, scope, grace, logLimit, account, other);
  }

  /**
   * Returns the SHA-256, in hexadecimal, of command, environment, directory, fingerprint and
   * account.
   */
  public String digest() {
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      command.forEach(argument -> update(sha, "argument", argument));
      new TreeMap<>(environment)
          .forEach((key, value) -> update(sha, "variable", key + "=" + value));
      update(sha, "directory", directory.toString());
      update(sha, "fingerprint", fingerprint);
      // Left out where there is none: processes that run since before there were accounts stay.
      if (!account.isEmpty()) {
        update(sha, "account", account);
      }
      return HexFormat.of().formatHex(sha.digest());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java runtime has SHA-256", e);
    }
  }

  /** Adds a text with its length before it, so that two specs never make the same bytes. */
  private static void update(MessageDigest sha, String kind, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    sha.update((kind + " " + bytes.length + ":").getBytes(StandardCharsets.UTF_8));
    sha.update(bytes);
  }

  static String requireName(String name) {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "process name \"%s\" does not match %s".formatted(name, NAME.pattern()));
    }
    return name;
  }

  /** Returns name and command; the environment may hold secrets. */
  @Override
  public String toString() {
    return "ProcessSpec[" + name + ", " + command + "]";
  }
}
