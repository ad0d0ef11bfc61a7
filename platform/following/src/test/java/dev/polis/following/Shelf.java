package dev.polis.following;

import dev.polis.event.Value;
import java.io.IOException;

/** A contract with a method of each kind. */
public interface Shelf {

  /** A value. */
  Value<String> label();

  /** A part of the provider. */
  Box box();

  /** An answer. */
  String read(String name) throws IOException;

  /** An answer that takes as long as the provider likes. */
  String await() throws InterruptedException;

  /** An answer that nothing is declared to interrupt. */
  int size();

  /** Made of the others. */
  default String title() {
    return label().peek().orElseThrow() + " with " + size();
  }

  /** A part of a shelf. */
  interface Box {
    /** An answer of a part. */
    String content();
  }
}
