package dev.polis.handover.following;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;

/** Answers with its name. */
final class TestShelf implements Shelf {
  final String name;
  final MutableValue<String> label = new MutableValue<>();
  final CountDownLatch entered = new CountDownLatch(1);
  final CountDownLatch released = new CountDownLatch(1);

  TestShelf(String name) {
    this.name = name;
  }

  @Override
  public Value<String> label() {
    return label;
  }

  @Override
  public Box box() {
    return () -> name + "'s box";
  }

  @Override
  public String read(String title) throws IOException {
    if (title.isEmpty()) {
      throw new IOException(name + " has no empty title");
    }
    return name + ":" + title;
  }

  @Override
  public String await() throws InterruptedException {
    entered.countDown();
    released.await();
    return name;
  }

  @Override
  public int size() {
    if (name.equals("broken")) {
      throw new IllegalStateException("broken");
    }
    return name.length();
  }
}
