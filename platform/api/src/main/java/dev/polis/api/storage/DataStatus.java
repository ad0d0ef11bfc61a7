package dev.polis.api.storage;

/** Whether {@code data/} can be used. */
public sealed interface DataStatus {

  /**
   * It cannot; files below {@code data/} must not be written.
   *
   * @param reason what it waits for, or why it failed, in words
   */
  record NotMounted(String reason) implements DataStatus {}

  /**
   * It can.
   *
   * @param security what the volume promises
   * @param how by which means and with which limits, in words for a person
   */
  record Mounted(StorageSecurity security, String how) implements DataStatus {}
}
