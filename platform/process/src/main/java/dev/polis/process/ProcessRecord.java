package dev.polis.process;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Identifies a child process, so that a later node finds it and does not confuse it with another
 * process of the same id. The manager writes it before each step of a start.
 *
 * @param name the process's name
 * @param digest the digest of its spec
 * @param token random text in the environment of the process and of all its descendants
 * @param state the progress of the start
 * @param pid process id; 0 while {@link State#INTENT}
 * @param startTicks start time in clock ticks since boot, from /proc; 0 while {@link State#INTENT}
 * @param bootId the kernel's name for this run of the machine; process ids and ticks are valid only
 *     in this run
 * @param writtenMillis the time of the record, in ms since 1970
 * @param graceMillis the wait of a stop between SIGTERM and SIGKILL
 * @param command program and arguments, for people
 * @param stopSignal the signal that stops it
 */
public record ProcessRecord(
    String name,
    String digest,
    String token,
    State state,
    long pid,
    long startTicks,
    String bootId,
    long writtenMillis,
    long graceMillis,
    List<String> command,
    StopSignal stopSignal) {

  /** Sets the default signal in the record of an earlier version. */
  public ProcessRecord {
    stopSignal = stopSignal == null ? StopSignal.TERM : stopSignal;
  }

  /** Lists the steps of a start. */
  public enum State {
    /** The start begins: a process with the token may exist. */
    INTENT,
    /** The process has started with the given id. */
    STARTED
  }

  /** The longest time of setsid, which needs some milliseconds, on a busy machine. */
  private static final long HELPER_MILLIS = 1000;

  private static final long POLL_MILLIS = 50;

  private static final Gson GSON =
      new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();

  /** Returns whether the process of this record is alive now; false for a reused process id. */
  public boolean alive() {
    return state == State.STARTED
        && bootId.equals(Proc.bootId())
        && Proc.stat(pid).filter(this::describes).isPresent();
  }

  /**
   * Returns whether a process that was {@link #alive} still is. It does not check the user again,
   * since the same start tick means the same process.
   */
  boolean stillAlive() {
    return Proc.stat(pid)
        .filter(stat -> stat.startTicks() == startTicks && !stat.dead())
        .isPresent();
  }

  Duration grace() {
    return Duration.ofMillis(graceMillis);
  }

  private boolean describes(Proc.Stat stat) {
    return stat.startTicks() == startTicks && !stat.dead() && isOurs();
  }

  /** Returns whether the process belongs to the user of this process, or has the node's token. */
  private boolean isOurs() {
    return Proc.isOurs(pid) || Proc.hasToken(pid, token);
  }

  /**
   * Finds the process of an unfinished start by its token. A node that is killed during a start
   * leaves a setsid, which needs a moment to become the program. So this method polls a fresh
   * intent until that moment has passed.
   */
  Optional<Proc.Stat> findStarted() throws InterruptedException {
    while (true) {
      Optional<Proc.Stat> found = Proc.withToken(token).stream().findFirst();
      long age = System.currentTimeMillis() - writtenMillis;
      if (found.isPresent() || state != State.INTENT || age < 0 || age > HELPER_MILLIS) {
        return found;
      }
      Thread.sleep(POLL_MILLIS);
    }
  }

  ProcessRecord started(Proc.Stat stat, long nowMillis) {
    return new ProcessRecord(
        name,
        digest,
        token,
        State.STARTED,
        stat.pid(),
        stat.startTicks(),
        bootId,
        nowMillis,
        graceMillis,
        command,
        stopSignal);
  }

  String toJson() {
    return GSON.toJson(this) + "\n";
  }

  static ProcessRecord fromJson(String json, Object where) {
    try {
      ProcessRecord record = GSON.fromJson(json, ProcessRecord.class);
      if (record == null
          || record.name == null
          || record.digest == null
          || record.token == null
          || record.state == null
          || record.bootId == null
          || record.command == null) {
        throw new ProcessException(
            "process record "
                + where
                + " is incomplete; look for the process by hand, then remove the file");
      }
      return record;
    } catch (JsonParseException e) {
      throw new ProcessException(
          "process record "
              + where
              + " is damaged; look for the process by hand, then remove the file",
          e);
    }
  }
}
