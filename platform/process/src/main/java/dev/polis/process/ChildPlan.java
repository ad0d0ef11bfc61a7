package dev.polis.process;

import dev.polis.logtree.convert.LineConverter;
import java.time.Duration;

/**
 * Declares a child process as its owner wants it.
 *
 * @param spec how it is started and stopped
 * @param program says when it is ready and whether it answers
 * @param patience for how long it may be silent
 * @param converter of its log's format
 */
public record ChildPlan(
    ProcessSpec spec, ChildProgram program, Patience patience, LineConverter converter) {

  /**
   * Holds how long a child may be silent. The time is measured from its last answer.
   *
   * @param pace how often it is asked while it answers
   * @param silent after which its silence is published
   * @param hanging after which it is ended, to be started again
   * @param starting the same for one that has never answered
   */
  public record Patience(Duration pace, Duration silent, Duration hanging, Duration starting) {

    /** Half of what a person would wait before a restart. */
    public static final Duration HANGING = Duration.ofSeconds(40);

    /** Returns one under which a child that starts may be silent as long as any other. */
    public static Patience of(Duration pace, Duration silent) {
      return new Patience(pace, silent, HANGING, HANGING);
    }

    /** Returns the remedy against the silence of a child: its owner ends it. */
    public String remedy() {
      return "nothing: it is ended and started again after %d s of silence"
          .formatted(hanging.toSeconds());
    }
  }
}
