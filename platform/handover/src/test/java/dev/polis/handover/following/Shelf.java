package dev.polis.handover.following;

import dev.polis.base.values.Value;
import java.io.IOException;

/** Has a method of each kind that a contract may have. */
public interface Shelf {

  /** Returns a value. */
  Value<String> label();

  /** Returns a part of the provider. */
  Box box();

  /** Returns an answer. */
  String read(String name) throws IOException;

  /** Returns an answer after any time that the provider takes. */
  String await() throws InterruptedException;

  /** Returns an answer, without a declared interrupt. */
  int size();

  /** Combines the other methods. */
  default String title() {
    return label().peek().orElseThrow() + " with " + size();
  }

  /** Is a part of a shelf. */
  interface Box {
    /** Returns an answer of a part. */
    String content();
  }
}
