package dev.polis.process;

import dev.polis.base.digest.Sha256;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Describes a wanted child process. Two specs with the same {@link #digest} want the same process;
 * a running one with another digest is replaced.
 *
 * @param name unique among the processes of a node; also the name of its files
 * @param command program (absolute path) and arguments; never a secret, since each user of the
 *     machine can read them
 * @param environment the whole environment; the process inherits none
 * @param directory the working directory
 * @param fingerprint another value whose change must cause a replacement, such as the digest of a
 *     configuration file; may be empty
 * @param scope the processes that a stop ends
 * @param grace the time to end after SIGTERM, before SIGKILL
 * @param logLimit size in bytes at which the log file is rotated
 * @param account the account of the process if the node is root: a name, or a number of {@link
 *     RunAs#number}; empty for root's own. A node that is not root starts all its processes as its
 *     own user
 * @param stopSignal the signal that stops it
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

  /** Selects the processes that a stop ends. */
  public enum Scope {
    /** The process and all its descendants, daemonized or not. */
    TREE,
    /**
     * The process alone, for programs whose children must survive them (containerd and its shims).
     */
    PROCESS
  }

  /**
   * The default grace: etcd and QEMU flush within a second, ten leave room for a slow disk, and
   * container runtimes give as many.
   */
  public static final Duration DEFAULT_GRACE = Duration.ofSeconds(10);

  /**
   * The default limit of a log: eight MiB hold hours of a talkative etcd, and a disk easily holds
   * two files for each of a dozen children.
   */
  public static final long DEFAULT_LOG_LIMIT = 8L << 20;

  // Excludes options of setpriv, and numbers that might be names.
  private static final Pattern ACCOUNT =
      Pattern.compile("[A-Za-z_][A-Za-z0-9_.-]{0,31}|#[1-9][0-9]{0,8}");

  private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9_.-]{0,63}");

  /** Refuses an invalid spec. */
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

  /** Returns the same spec with this whole environment. */
  public ProcessSpec withEnvironment(Map<String, String> other) {
    return new ProcessSpec(
        name, command, other, directory, fingerprint, scope, grace, logLimit, account, stopSignal);
  }

  /** Returns the same spec in this working directory. */
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

  /** Returns the same spec with this fingerprint. */
  public ProcessSpec withFingerprint(String other) {
    return new ProcessSpec(
        name, command, environment, directory, other, scope, grace, logLimit, account, stopSignal);
  }

  /** Returns the same spec with this scope. */
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

  /** Returns the same spec with this grace. */
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

  /** Returns the same spec with this log limit in bytes. */
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

  /** Returns the same spec with this account, for a node that is root. */
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

  /** Returns the same spec with this stop signal. */
  public ProcessSpec withStopSignal(StopSignal other) {
    return new ProcessSpec(
        name, command, environment, directory, fingerprint, scope, grace, logLimit, account, other);
  }

  /**
   * Returns the SHA-256, in hexadecimal, of command, environment, directory, fingerprint and
   * account.
   */
  public String digest() {
    MessageDigest sha = Sha256.begin();
    command.forEach(argument -> update(sha, "argument", argument));
    new TreeMap<>(environment).forEach((key, value) -> update(sha, "variable", key + "=" + value));
    update(sha, "directory", directory.toString());
    update(sha, "fingerprint", fingerprint);
    // Omitted if empty, so that processes from the time before accounts keep their digest.
    if (!account.isEmpty()) {
      update(sha, "account", account);
    }
    return HexFormat.of().formatHex(sha.digest());
  }

  /** Adds a text after its length, so that two specs never give the same bytes. */
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

  /** Returns the name and the command, without the environment, which may hold secrets. */
  @Override
  public String toString() {
    return "ProcessSpec[" + name + ", " + command + "]";
  }
}
