package dev.polis.plugins.store;

import dev.polis.files.DiskTrouble;
import dev.polis.files.FileException.Problem;
import java.io.IOException;

/** Describes why the store is unusable, and the remedy for a full or read-only disk. */
public final class StoreFailure {
  private StoreFailure() {}

  /**
   * Describes a failure.
   *
   * @param failure the failure of a file of the store
   * @return a text for people, without a full stop
   */
  public static String words(IOException failure) {
    Problem problem = DiskTrouble.of(failure);
    String place = DiskTrouble.place(failure).map(file -> file + ": ").orElse("");
    String what = "the plugin store cannot be used: " + place + DiskTrouble.reason(failure);
    return problem == Problem.IO ? what : what + "; " + DiskTrouble.remedy(problem);
  }
}
