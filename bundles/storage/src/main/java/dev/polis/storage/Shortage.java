package dev.polis.storage;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import java.util.List;

/**
 * Lists what this machine lacks for one way to keep a volume.
 *
 * @param missing programs, devices and rights that the machine lacks; empty if nothing is missing
 * @param kernel how many of them need another kernel, or another container
 * @param remedies how to get them
 */
record Shortage(List<String> missing, int kernel, List<String> remedies) {

  /** Nothing is missing. */
  static final Shortage NONE = new Shortage(List.of(), 0, List.of());

  boolean isEmpty() {
    return missing.isEmpty();
  }

  /** Returns the refusal of a way that this machine cannot give. */
  StorageException refusal(String what) {
    return new StorageException(
        Refusal.UNSUPPORTED,
        "this machine cannot give " + what + ": missing " + String.join(", ", missing),
        String.join("; ", remedies) + "; or choose another storage security");
  }

  /** Returns what is missing and how to get it, as the end of "… needs". */
  String words() {
    return "%s (%s)".formatted(String.join(", ", missing), String.join("; ", remedies));
  }
}
