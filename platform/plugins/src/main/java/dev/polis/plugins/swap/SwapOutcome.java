package dev.polis.plugins.swap;

import dev.polis.plugins.store.SwapRecord;

/** Lists the outcomes of a swap. */
public sealed interface SwapOutcome {

  /**
   * Returns the name of the outcome for people and programs.
   *
   * @return a name such as {@code could not revert}
   */
  default String name() {
    return switch (this) {
      case Applied _ -> SwapRecord.APPLIED;
      case NothingToDo _ -> SwapRecord.NOTHING_TO_DO;
      case Refused _ -> "refused";
      case Reverted _ -> "reverted";
      case CouldNotRevert _ -> SwapRecord.COULD_NOT_REVERT;
    };
  }

  /**
   * Returns the reason of the outcome.
   *
   * @return a text for people; may be empty
   */
  String reason();

  /**
   * Means that the order is fulfilled.
   *
   * @param generation the number of the new generation
   * @param reason a remark for people; may be empty
   */
  record Applied(long generation, String reason) implements SwapOutcome {}

  /**
   * Means that the order was already fulfilled, or changes nothing.
   *
   * @param reason the one that applies
   */
  record NothingToDo(String reason) implements SwapOutcome {}

  /**
   * Means that the order was refused and the node is unchanged.
   *
   * @param reason the reason and the remedy
   */
  record Refused(String reason) implements SwapOutcome {}

  /**
   * Means that the order was executed and reverted; the node runs its former plugins.
   *
   * @param reason the reason of the revert
   */
  record Reverted(String reason) implements SwapOutcome {}

  /**
   * Means that the order failed and was reverted only in part. The former generation counts, and a
   * restart of the process restores it. Until then, a successor without a working predecessor
   * continues.
   *
   * @param reason the failure, and the rest
   */
  record CouldNotRevert(String reason) implements SwapOutcome {}
}
