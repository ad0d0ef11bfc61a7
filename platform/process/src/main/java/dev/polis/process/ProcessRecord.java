package dev.polis.process;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Records a child process: enough to find it again after any death of the node, and to tell it from
 * another process with the same process id. It is written before each step of a start.
 *
 * @param name the process's name
 * @param digest of the spec that it runs from
 * @param token random text in the environment of the process and of all its descendants
 * @param state how far the start got
 * @param pid process id; 0 while {@link State#INTENT}
 * @param startTicks start time in clock ticks since boot, from /proc; 0 while {@link State#INTENT}
 * @param bootId the kernel's name for this run of the machine; process ids and ticks mean nothing
 *     in another
 * @param writtenMillis when the record was written, in ms since 1970
 * @param graceMillis how long a stop waits between SIGTERM and SIGKILL
 * @param command program and arguments, for people
 * @param stopSignal what asks it to end
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

  /** Takes a record as it is; one that an earlier version wrote names no signal. */
  public ProcessRecord {
    stopSignal = stopSignal == null ? StopSignal.TERM : stopSignal;
  }

  /** How far a start got. */
  public enum State {
    /** About to start: there may or may not be a process with the token. */
    INTENT,
    /** Started with the given process id. */
    STARTED
  }

  /** setsid needs some milliseconds; a second is for a machine under load. */
  private static final long HELPER_MILLIS = 1000;

  private static final long POLL_MILLIS = 50;

  private static final Gson GSON =
      new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();

  /**
   * Returns whether the process of this record is alive now; never true for a reused process id.
   */
  public boolean alive() {
    return state == State.STARTED
        && bootId.equals(Proc.bootId())
        && Proc.stat(pid).filter(this::describes).isPresent();
  }

  /**
   * Returns whether a process that was {@link #alive} is so still. Its user is not checked again:
   * it is the same process as long as it started at the same tick.
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

  /** Returns whether it belongs to our user; if to another account, it still has our token. */
  private boolean isOurs() {
    return Proc.isOurs(pid) || Proc.hasToken(pid, token);
  }

  /**
   * Finds the process of an unfinished start by its token. A node that is killed in the middle of a
   * start leaves a setsid that needs a moment to become the program, so a fresh intent is polled
   * until that moment has passed.
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
