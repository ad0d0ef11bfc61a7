package dev.polis.plugins.store;

import dev.polis.files.DiskTrouble;
import dev.polis.files.FileException.Problem;
import java.io.IOException;

/** Says why the store cannot be used, and what to do about a disk that is full or read-only. */
public final class StoreFailure {
  private StoreFailure() {}

  /**
   * Describes a failure.
   *
   * @param failure of a file of the store
   * @return a text for people, without a full stop
   */
  public static String words(IOException failure) {
    Problem problem = DiskTrouble.of(failure);
    String place = DiskTrouble.place(failure).map(file -> file + ": ").orElse("");
    String what = "the plugin store cannot be used: " + place + DiskTrouble.reason(failure);
    return problem == Problem.IO ? what : what + "; " + DiskTrouble.remedy(problem);
  }
}
