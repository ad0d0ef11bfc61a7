package dev.polis.api.storage;

/** Describes whether {@code data/} is usable. */
public sealed interface DataStatus {

  /**
   * Means that no organ may write files below {@code data/}.
   *
   * @param reason the awaited event, or the cause of the failure, as text
   */
  record NotMounted(String reason) implements DataStatus {}

  /**
   * Means that {@code data/} is usable.
   *
   * @param security the volume's protection
   * @param how its means and limits, as text for a person
   * @param shortfall the missing conditions of a stronger security on this machine, with the
   *     remedy; empty if there is no stronger one
   */
  record Mounted(StorageSecurity security, String how, String shortfall) implements DataStatus {

    /** Describes a volume without a shortfall. */
    public Mounted(StorageSecurity security, String how) {
      this(security, how, "");
    }

    /** Returns security, means and shortfall in one line for people. */
    public String describe() {
      return security + ", " + how + (shortfall.isEmpty() ? "" : ". " + shortfall);
    }
  }
}
