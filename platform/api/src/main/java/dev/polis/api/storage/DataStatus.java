package dev.polis.api.storage;

/** Whether {@code data/} can be used. */
public sealed interface DataStatus {

  /**
   * It cannot; files below {@code data/} must not be written.
   *
   * @param reason what it waits for, or why it failed, as text
   */
  record NotMounted(String reason) implements DataStatus {}

  /**
   * It can.
   *
   * @param security what the volume promises
   * @param how by which means and with which limits, as text for a person
   * @param shortfall what a stronger security needs that this machine lacks, and how to get it;
   *     empty if there is no stronger one
   */
  record Mounted(StorageSecurity security, String how, String shortfall) implements DataStatus {

    /** Describes a volume of which no more is known than what it is. */
    public Mounted(StorageSecurity security, String how) {
      this(security, how, "");
    }

    /** Returns security, means and shortfall in one line for people. */
    public String describe() {
      return security + ", " + how + (shortfall.isEmpty() ? "" : ". " + shortfall);
    }
  }
}
