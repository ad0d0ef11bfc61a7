package dev.polis.plugins.swap;

import java.time.Duration;
import java.util.List;
import java.util.Locale;

/** One thing that a swap has done, in the order in which it does them. */
public sealed interface SwapStage {

  /**
   * Returns what was done, as a text for people.
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
   * @param words which
   */
  record Fetched(String words) implements SwapStage {}

  /**
   * The files are what their manifests say, and a trusted signer vouches for them.
   *
   * @param words who does
   */
  record Verified(String words) implements SwapStage {}

  /**
   * The framework can wire the successors, and every service that a bundle needs has a provider.
   *
   * @param words what was wired
   */
  record Resolved(String words) implements SwapStage {}

  /**
   * It is known what the swap does to the node.
   *
   * @param lines one for each effect
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
   * @param words which
   */
  record Installed(String words) implements SwapStage {}

  /**
   * The successors run, and so do their predecessors.
   *
   * @param took how long their activation took
   */
  record Started(Duration took) implements SwapStage {
    @Override
    public String words() {
      return "activated in " + Spans.text(took);
    }
  }

  /**
   * The successors are well beside their predecessors.
   *
   * @param words what was looked at
   */
  record Proved(String words) implements SwapStage {}

  /**
   * The predecessors are stopped, and the new configurations hold.
   *
   * @param took how long that took
   */
  record Switched(Duration took) implements SwapStage {
    @Override
    public String words() {
      return "switched in " + Spans.text(took);
    }
  }

  /**
   * The whole node was well for long enough.
   *
   * @param words what was looked at
   */
  record Gated(String words) implements SwapStage {}

  /**
   * The new generation counts; the next start of the process runs it.
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
   * @param words which
   */
  record Retired(String words) implements SwapStage {}

  /**
   * The swap is being taken back.
   *
   * @param words why
   */
  record Reverting(String words) implements SwapStage {}
}
