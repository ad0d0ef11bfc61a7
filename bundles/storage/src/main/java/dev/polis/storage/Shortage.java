package dev.polis.storage;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import java.util.List;

/**
 * Lists what this machine lacks for one kind of volume.
 *
 * @param missing programs, devices and rights that the machine lacks; empty if nothing is missing
 * @param kernel the number of them that need another kernel or container
 * @param remedies the remedies
 */
record Shortage(List<String> missing, int kernel, List<String> remedies) {

  /** The value of a machine that lacks nothing. */
  static final Shortage NONE = new Shortage(List.of(), 0, List.of());

  boolean isEmpty() {
    return missing.isEmpty();
  }

  /** Returns the refusal of a kind of volume that this machine cannot give. */
  StorageException refusal(String what) {
    return new StorageException(
        Refusal.UNSUPPORTED,
        "this machine cannot give " + what + ": missing " + String.join(", ", missing),
        String.join("; ", remedies) + "; or choose another storage security");
  }

  /** Returns the missing parts with their remedies, as the end of "… needs". */
  String words() {
    return "%s (%s)".formatted(String.join(", ", missing), String.join("; ", remedies));
  }
}
