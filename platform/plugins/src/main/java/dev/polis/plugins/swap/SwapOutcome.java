package dev.polis.plugins.swap;

/** Lists the outcomes of a swap. */
public sealed interface SwapOutcome {

  /**
   * Returns the name of the outcome for people and programs.
   *
   * @return such as {@code could not revert}
   */
  String name();

  /**
   * Returns why it ended so.
   *
   * @return a text for people; may be empty
   */
  String reason();

  /**
   * The node runs what was ordered.
   *
   * @param generation the number of the new generation
   * @param reason what a person should know nevertheless; empty if there is nothing
   */
  record Applied(long generation, String reason) implements SwapOutcome {
    @Override
    public String name() {
      return "applied";
    }
  }

  /**
   * The node runs what was ordered already, or nothing was to be changed.
   *
   * @param reason which of the two
   */
  record NothingToDo(String reason) implements SwapOutcome {
    @Override
    public String name() {
      return "nothing to do";
    }
  }

  /**
   * The order was not carried out; nothing on the node has changed.
   *
   * @param reason why, and what would help
   */
  record Refused(String reason) implements SwapOutcome {
    @Override
    public String name() {
      return "refused";
    }
  }

  /**
   * The order was carried out and taken back; the node runs what it ran before.
   *
   * @param reason why it was taken back
   */
  record Reverted(String reason) implements SwapOutcome {
    @Override
    public String name() {
      return "reverted";
    }
  }

  /**
   * The order failed and could not be taken back wholly; the generation before it counts, and a
   * restart of the process brings it back. Until then a successor whose predecessor did not come
   * back runs on.
   *
   * @param reason what failed, and what is left
   */
  record CouldNotRevert(String reason) implements SwapOutcome {
    @Override
    public String name() {
      return "could not revert";
    }
  }
}
