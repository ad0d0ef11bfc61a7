package dev.polis.process;

import dev.polis.logtree.convert.LineConverter;
import java.time.Duration;

/**
 * Describes a wanted child process.
 *
 * @param spec its start and stop
 * @param program checks whether it is ready and answers
 * @param patience the limits of its silence
 * @param converter the converter of its log's format
 */
public record ChildPlan(
    ProcessSpec spec, ChildProgram program, Patience patience, LineConverter converter) {

  /**
   * Limits the silence of a child, measured from its last answer.
   *
   * @param pace the interval of checks while it answers
   * @param silent the time after which its silence is published
   * @param hanging the time after which it is ended and restarted
   * @param starting the same for a child that has never answered
   */
  public record Patience(Duration pace, Duration silent, Duration hanging, Duration starting) {

    /** The default time after which a silent child is ended, half of a person's patience. */
    public static final Duration HANGING = Duration.ofSeconds(40);

    /** Returns limits without a special one for a starting child. */
    public static Patience of(Duration pace, Duration silent) {
      return new Patience(pace, silent, HANGING, HANGING);
    }

    /** Returns the remedy for a silent child, which its owner ends. */
    public String remedy() {
      return "nothing: it is ended and started again after %d s of silence"
          .formatted(hanging.toSeconds());
    }
  }
}
