package dev.polis.plugins.swap;

import java.time.Duration;
import java.util.List;
import java.util.Locale;

/** Describes one finished stage of a swap; the stages are in the order of a swap. */
public sealed interface SwapStage {

  /**
   * Returns the stage as a text for people.
   *
   * @return one line
   */
  String words();

  /**
   * Returns the name of the stage for programs.
   *
   * @return one word in lower case
   */
  default String name() {
    return getClass().getSimpleName().toLowerCase(Locale.ROOT);
  }

  /**
   * The files are in the node's store.
   *
   * @param words the files
   */
  record Fetched(String words) implements SwapStage {}

  /**
   * The files match their manifests, and a trusted signer guarantees for them.
   *
   * @param words the signer
   */
  record Verified(String words) implements SwapStage {}

  /**
   * The framework can wire the successors, and each service that a bundle needs has a provider.
   *
   * @param words the wired bundles
   */
  record Resolved(String words) implements SwapStage {}

  /**
   * The effects of the swap on the node are known.
   *
   * @param lines one line for each effect
   */
  record Radius(List<BlastLine> lines) implements SwapStage {
    /** Copies the lines. */
    public Radius {
      lines = List.copyOf(lines);
    }

    @Override
    public String words() {
      long stopped = lines.stream().filter(line -> line.effect() == BlastLine.Effect.STOPS).count();
      long deactivated =
          lines.stream().filter(line -> line.effect() == BlastLine.Effect.DEACTIVATES).count();
      return "bundles that stop: %d, components that are deactivated and come back: %d"
          .formatted(stopped, deactivated);
    }
  }

  /**
   * The successors are installed beside their predecessors.
   *
   * @param words the successors
   */
  record Installed(String words) implements SwapStage {}

  /**
   * The successors run beside their predecessors.
   *
   * @param took the time of their activation
   */
  record Started(Duration took) implements SwapStage {
    @Override
    public String words() {
      return "activated in " + Spans.text(took);
    }
  }

  /**
   * The successors work beside their predecessors.
   *
   * @param words the checks
   */
  record Proved(String words) implements SwapStage {}

  /**
   * The predecessors have stopped, and the new configurations are in force.
   *
   * @param took the time of the switch
   */
  record Switched(Duration took) implements SwapStage {
    @Override
    public String words() {
      return "switched in " + Spans.text(took);
    }
  }

  /**
   * The whole node was healthy for long enough.
   *
   * @param words the checks
   */
  record Gated(String words) implements SwapStage {}

  /**
   * The new generation is the current one, and the next start of the process runs it.
   *
   * @param generation its number
   */
  record Committed(long generation) implements SwapStage {
    @Override
    public String words() {
      return "generation " + generation + " counts";
    }
  }

  /**
   * The predecessors are uninstalled, and their class loaders are gone.
   *
   * @param words the predecessors
   */
  record Retired(String words) implements SwapStage {}

  /**
   * The swap is being reverted.
   *
   * @param words the reason
   */
  record Reverting(String words) implements SwapStage {}
}
