package dev.polis.supervision;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Watches cancelled runs that have not returned, with one alarm for all. The tree's lock guards it.
 */
final class Overdue {
  /**
   * The time until a reminder: a normal end takes less, and a waiting operator sees a line soon.
   */
  static final Duration REMINDER = Duration.ofSeconds(5);

  private final Timer timer;
  private final Runnable check;
  private final Set<Run> cancelled = new LinkedHashSet<>();
  private Timer.Alarm alarm = () -> {};

  /**
   * @param check called on the timer's thread when it is time to {@link #remind}
   */
  Overdue(Timer timer, Runnable check) {
    this.timer = timer;
    this.check = check;
  }

  void watch(Run run) {
    run.cancelledAt = timer.nanos();
    run.nextReminder = run.cancelledAt + REMINDER.toNanos();
    cancelled.add(run);
    if (cancelled.size() == 1) {
      alarm = timer.schedule(REMINDER.toNanos(), check);
    }
  }

  void forget(Run run) {
    cancelled.remove(run);
    if (cancelled.isEmpty()) {
      alarm.cancel();
    }
  }

  /** Calls the reminder for each due run, and sets the next alarm. */
  void remind(Consumer<Run> reminder) {
    long now = timer.nanos();
    long next = REMINDER.toNanos();
    for (Run run : new ArrayList<>(cancelled)) {
      if (now - run.nextReminder >= 0) {
        run.overdue = true;
        run.nextReminder += REMINDER.toNanos();
        reminder.accept(run);
      }
      next = Math.min(next, Math.max(0, run.nextReminder - now));
    }
    if (!cancelled.isEmpty()) {
      alarm.cancel();
      alarm = timer.schedule(next, check);
    }
  }

  /** Returns the position of a thread: the innermost frame outside the JDK and the base. */
  static String place(Thread thread) {
    List<StackTraceElement> frames = List.of(thread.getStackTrace());
    return Stream.concat(
            frames.stream()
                .filter(
                    frame ->
                        !frame
                            .getClassName()
                            .matches("(java|javax|jdk|sun|dev\\.polis\\.base)\\..*")),
            frames.stream())
        .findFirst()
        .map(StackTraceElement::toString)
        .orElse("a place that cannot be seen");
  }
}
